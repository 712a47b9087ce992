#include "status_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace dooly::profiling {
namespace {

constexpr auto kBarEvery = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(5);

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

StatusLine::StatusLine(const cli::Terminal& terminal) : terminal_(terminal), next_(Clock::now()) {}

void StatusLine::show(const std::function<std::string(bool)>& text) {
  if (!terminal_.shows_progress() || Clock::now() < next_) return;
  if (terminal_.progress_is_terminal()) {
    next_ = Clock::now() + kBarEvery;
    std::fprintf(stderr, "\r\x1b[K%s", text(true).substr(0, terminal_width() - 1).c_str());
    std::fflush(stderr);
    is_drawn_ = true;
  } else {
    next_ = Clock::now() + kLineEvery;
    std::fprintf(stderr, "%s\n", text(false).c_str());
  }
}

void StatusLine::clear() {
  if (!is_drawn_) return;
  is_drawn_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace dooly::profiling
