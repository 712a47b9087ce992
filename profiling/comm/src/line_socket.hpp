#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dooly::profiling {

/// Lines through a socket.
class LineSocket {
 public:
  explicit LineSocket(int descriptor = -1) : descriptor_(descriptor) {}
  int descriptor() const { return descriptor_; }
  /// False if the other end is gone.
  bool write(std::string_view line) const;
  /// Takes in what has come; waits if nothing has. False at the end of the conversation.
  bool read_more();
  /// A whole line, if there is one.
  std::optional<std::string> take_line();
  /// Waits for a line; empty at the end of the conversation.
  std::optional<std::string> wait_line();
  void close();

 private:
  int descriptor_;
  std::string buffer_;
};

std::string in_one_line(std::string text);

}  // namespace dooly::profiling
