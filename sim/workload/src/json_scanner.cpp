#include "json_scanner.hpp"

#include <fmt/format.h>

namespace dooly::workload {

JsonScanner::JsonScanner(std::string_view line) : line_(line) {
  skip_space();
  if (peek() != '{') {
    fail("want a JSON object");
    return;
  }
  ++at_;
}

void JsonScanner::skip_space() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t' || line_[at_] == '\r' || line_[at_] == '\n'))
    ++at_;
}

bool JsonScanner::fail(const char* what) {
  if (error_.empty()) error_ = fmt::format("{} at column {}", what, at_ + 1);
  return false;
}

bool JsonScanner::next(Member& member) {
  if (!error_.empty()) return false;
  skip_space();
  if (peek() == '}' && at_ < line_.size()) {
    ++at_;
    skip_space();
    return at_ == line_.size() ? false : fail("want nothing behind the object");
  }
  if (!first_) {
    if (peek() != ',') return fail(at_ < line_.size() ? "want ',' or '}'" : "the object does not end on its line");
    ++at_;
    skip_space();
  }
  first_ = false;
  if (!string(member.key, key_)) return fail("want a key");
  skip_space();
  if (peek() != ':') return fail("want ':'");
  ++at_;
  skip_space();
  return value(member);
}

bool JsonScanner::string(std::string_view& into, std::string& unescaped) {
  if (peek() != '"') return false;
  const std::size_t start = ++at_;
  while (at_ < line_.size() && line_[at_] != '"' && line_[at_] != '\\') ++at_;
  if (at_ >= line_.size()) return fail("a string is not closed");
  if (line_[at_] == '"') {
    into = line_.substr(start, at_++ - start);
    return true;
  }
  if (!unescape(unescaped, start)) return false;
  into = unescaped;
  return true;
}

/// The slow path: a string with escapes. `\u` gives UTF-8; halves of surrogate pairs each become U+FFFD.
bool JsonScanner::unescape(std::string& unescaped, std::size_t start) {
  unescaped.assign(line_.substr(start, at_ - start));
  while (at_ < line_.size() && line_[at_] != '"') {
    if (line_[at_] != '\\') {
      unescaped.push_back(line_[at_++]);
      continue;
    }
    if (++at_ >= line_.size()) break;
    const char kind = line_[at_++];
    constexpr std::string_view kFrom = "\"\\/bfnrt", kTo = "\"\\/\b\f\n\r\t";
    if (const std::size_t which = kFrom.find(kind); which != kFrom.npos) {
      unescaped.push_back(kTo[which]);
      continue;
    }
    if (kind != 'u' || line_.size() - at_ < 4) return fail("bad escape");
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = line_[at_++];
      const auto digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c));
      if (digit == std::string_view::npos) return fail("bad escape");
      code = code * 16 + static_cast<unsigned>(digit);
    }
    if (code >= 0xD800 && code < 0xE000) code = 0xFFFD;
    if (code < 0x80) {
      unescaped.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
      unescaped.push_back(static_cast<char>(0xC0 | (code >> 6)));
      unescaped.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    } else {
      unescaped.push_back(static_cast<char>(0xE0 | (code >> 12)));
      unescaped.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3F)));
      unescaped.push_back(static_cast<char>(0x80 | (code & 0x3F)));
    }
  }
  if (at_ >= line_.size()) return fail("a string is not closed");
  ++at_;
  return true;
}

bool JsonScanner::value(Member& member) {
  const std::size_t start = at_;
  switch (peek()) {
    case '"': member.kind = Kind::kString; return string(member.text, text_) || fail("bad string");
    case '{':
    case '[':
      member.kind = peek() == '{' ? Kind::kObject : Kind::kArray;
      if (!skip_nested()) return false;
      break;
    default:
      while (at_ < line_.size() && std::string_view(",}] \t").find(line_[at_]) == std::string_view::npos) ++at_;
      if (at_ == start) return fail("want a value");
      member.kind =
          line_[start] == '-' || (line_[start] >= '0' && line_[start] <= '9') ? Kind::kNumber : Kind::kLiteral;
  }
  member.text = line_.substr(start, at_ - start);
  return true;
}

/// Over an array or object: brackets must pair up; what stands between them is not looked at closely.
bool JsonScanner::skip_nested() {
  std::string open;
  do {
    const char c = peek();
    if (at_ >= line_.size()) return fail("the object does not end on its line");
    if (c == '"') {
      std::string_view ignored;
      if (!string(ignored, text_)) return fail("bad string");
      continue;
    }
    if (c == '[' || c == '{') open.push_back(c);
    if (c == ']' || c == '}') {
      if (open.back() != (c == ']' ? '[' : '{')) return fail("brackets do not pair up");
      open.pop_back();
    }
    ++at_;
  } while (!open.empty());
  return true;
}

}  // namespace dooly::workload
