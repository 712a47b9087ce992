#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::results {

/// A text as a JSON string, quotes included. Bytes from 0x80 up pass as they are (UTF-8).
std::string json_string(std::string_view text);

/// Writes indented JSON with keys in the order of the calls and numbers in shortest form; NaN and infinities as null.
/// A compact object or array stands on one line.
class JsonWriter {
 public:
  enum class Layout { kIndented, kCompact };

  JsonWriter& key(std::string_view name);
  JsonWriter& begin_object(Layout layout = Layout::kIndented) { return begin('{', layout); }
  JsonWriter& end_object() { return end('}'); }
  JsonWriter& begin_array(Layout layout = Layout::kIndented) { return begin('[', layout); }
  JsonWriter& end_array() { return end(']'); }
  JsonWriter& value(double number);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(bool truth);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& null();
  template <class Value>
  JsonWriter& member(std::string_view name, const Value& content) {
    return key(name).value(content);
  }
  /// The document with a line break at the end; leaves the writer empty.
  std::string take();

 private:
  struct Level {
    bool compact;
    bool empty = true;
  };
  JsonWriter& begin(char bracket, Layout layout);
  JsonWriter& end(char bracket);
  void separate();
  void break_line();
  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace dooly::results
