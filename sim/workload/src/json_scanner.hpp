#pragma once

#include <string>
#include <string_view>

namespace dooly::workload {

/// Walks the members of one JSON object on one line without building a tree. Values that nobody asks for are skipped,
/// nested ones included.
class JsonScanner {
 public:
  enum class Kind { kNumber, kString, kArray, kObject, kLiteral };
  struct Member {
    std::string_view key;    ///< escapes resolved
    Kind kind = Kind::kLiteral;
    std::string_view text;   ///< number, literal: as written; string: escapes resolved; array, object: with brackets
  };

  explicit JsonScanner(std::string_view line);

  /// False at the object's end or on an error.
  bool next(Member& member);
  /// Empty while all is well; else what was wrong and at which column.
  const std::string& error() const { return error_; }

 private:
  void skip_space();
  bool fail(const char* what);
  bool string(std::string_view& into, std::string& unescaped);
  bool unescape(std::string& unescaped, std::size_t start);
  bool value(Member& member);
  bool skip_nested();
  char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }

  std::string_view line_;
  std::size_t at_ = 0;
  bool first_ = true;
  std::string key_, text_, error_;
};

}  // namespace dooly::workload
