#pragma once

#include "scenarios/document.hpp"
#include "schema.hpp"
#include "value.hpp"

#include <vector>

namespace dooly::scenario {

/// Holds a tree against the schema: every key is used or refused, every problem is added to `problems`.
class Reader {
 public:
  Reader(const PathRules& paths, std::vector<Problem>& problems) : paths_(paths), problems_(problems) {}

  /// `node` must have been normalised (see expand.hpp).
  Value read_scenario(const Node& node);

 private:
  Value read(const Node& node, const Key& key, const std::string& path);
  void read_object(const Node& node, const Object& object, Value& value);
  void read_member(const Node& node, const Key& key, Value& value);
  Value absent(const Node& parent, const Key& key, const std::string& path, const Value& owner);
  void refuse_unknown(const Node& node, const Object& object, Value& value);
  void require_one_of(const Node& node, const Object& object, Value& value);
  void read_list(const Node& node, const Key& key, Value& value);
  void read_options(const Node& node, Value& value);
  void read_terms(const Node& node, Value& value);
  void read_scalar(const Node& node, const Key& key, Value& value);
  void read_text(const Node& node, Value& value);
  void read_path(const Node& node, Value& value);
  void read_enum(const Node& node, const Key& key, Value& value);
  void read_number(const Node& node, const Key& key, Value& value);
  void check_range(const Node& node, const Key& key, double number, Value& value);
  /// Adds "WHAT, got VALUE; allowed: …" and marks the value as bad.
  void refuse(Value& value, const Node& node, const std::string& what, const std::string& allowed = {});

  const PathRules& paths_;
  std::vector<Problem>& problems_;
};

}  // namespace dooly::scenario
