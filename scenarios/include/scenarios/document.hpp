#pragma once

#include "scenarios/nearest.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// Where a value was written. `source` 0 is the scenario file, k > 0 the k-th override; line and column count from 1.
struct Mark {
  std::size_t source = 0;
  int line = 1;
  int column = 1;
};

/// What is wrong, where.
struct Problem {
  Mark mark;
  std::string path;  ///< key path as the user wrote it
  std::string what;
};

/// A piece of YAML with the place it stands at. Anchors, aliases, merge keys and tags do not exist here: parsing
/// refuses them.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };
  struct Member;

  Kind kind = Kind::kNull;
  Mark mark;
  std::string text;     ///< kScalar
  bool quoted = false;  ///< kScalar
  bool is_implied = false;  ///< the user wrote this node's content in place of its parent (a shorthand)
  std::vector<Node> items;
  std::vector<Member> members;  ///< in the order of the file, keys unique
  /// Key path to name in messages instead of the place in the tree: where the short form put this value.
  std::string written_as;

  static Node scalar(Mark mark, std::string text);
  static Node map(Mark mark);
  static Node list(Mark mark);

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  Node* find(std::string_view key);
  const Node* find(std::string_view key) const;
  Node& add(std::string key, Node value);  ///< appends; `key` is not a member yet
  void remove(std::string_view key);
};

struct Node::Member {
  std::string key;
  Mark mark;
  Node value;
};

/// Parses one YAML document. Syntax errors (the first only), several documents, unsupported YAML and limits on size,
/// depth and number of values throw Problem; duplicate keys are added to `problems` and parsing goes on.
Node parse_yaml(std::string_view text, std::size_t source, std::vector<Problem>& problems);

/// What a message shows of a value, quoted if empty, shortened if long.
std::string shown(const Node& node);

/// "a, b, c", shortened after some dozen.
std::string listed(const std::vector<std::string_view>& words);

}  // namespace dooly::scenario
