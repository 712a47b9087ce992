#include "json_writer.hpp"

#include <cmath>
#include <utility>

#include "results/number_text.hpp"

namespace dooly::results {

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += "\\u00";
      quoted += "0123456789abcdef"[c >> 4];
      quoted += "0123456789abcdef"[c & 15];
    } else {
      quoted += c;
    }
  }
  return quoted += '"';
}

void JsonWriter::break_line() {
  text_ += '\n';
  text_.append(2 * levels_.size(), ' ');
}

void JsonWriter::separate() {
  if (std::exchange(after_key_, false) || levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) text_ += level.compact ? ", " : ",";
  level.empty = false;
  if (!level.compact) break_line();
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  text_ += json_string(name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin(char bracket, Layout layout) {
  separate();
  text_ += bracket;
  levels_.push_back({layout == Layout::kCompact || (!levels_.empty() && levels_.back().compact)});
  return *this;
}

JsonWriter& JsonWriter::end(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty && !level.compact) break_line();
  text_ += bracket;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  separate();
  text_ += number_text(number);
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  text_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  text_ += json_string(text);
  return *this;
}

JsonWriter& JsonWriter::null() {
  separate();
  text_ += "null";
  return *this;
}

std::string JsonWriter::take() {
  text_ += '\n';
  levels_.clear();
  return std::exchange(text_, {});
}

}  // namespace dooly::results
