#pragma once

#include "scenarios/document.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::scenario {

/// A value that the schema has accepted (or not: then `is_valid` is false and it holds a harmless stand-in, so that the
/// checks that follow can skip it and go on).
struct Value {
  struct Member;

  Mark mark;
  std::string path;  ///< key path as the user wrote it
  bool is_valid = true;
  bool is_set = false;  ///< false: absent or the key's unset word
  bool is_given = false;  ///< written by the user
  std::string text;  ///< text, names, enums, paths (absolute)
  double number = 0;  ///< numbers and quantities, in base units
  std::int64_t integer = 0;
  bool boolean = false;
  std::vector<Value> items;
  std::vector<Member> members;

  /// The member. Absent optional ones are there, not set; of a value that was refused, an invalid stand-in.
  const Value& operator[](std::string_view key) const;
  std::uint64_t count() const { return static_cast<std::uint64_t>(integer); }
};

struct Value::Member {
  std::string name;
  Value value;
};

/// Where relative paths start.
struct PathRules {
  std::filesystem::path file_directory;  ///< for values of the scenario file
  std::filesystem::path working_directory;  ///< for overrides
  /// Throws std::string, what is wrong, if `$DOOLY_DATA` is needed and unknown.
  std::filesystem::path resolve(const std::string& text, const Mark& mark) const;
};

}  // namespace dooly::scenario
