#include "progress.hpp"

#include "text.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace dooly::cli {
namespace {

constexpr auto kBarEvery = std::chrono::milliseconds(100);
constexpr auto kLineEvery = std::chrono::seconds(5);

std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::min(seconds, 1e9));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

bool has_share(const ProgressFigures& figures) { return figures.expected > 0 || figures.duration_s > 0; }

/// Of the requests, else of the simulated time. What drains after `duration` takes little.
double share_of(const ProgressFigures& figures) {
  if (!has_share(figures)) return 0;
  return std::min(1.0, figures.expected > 0 ? static_cast<double>(figures.ended) / static_cast<double>(figures.expected)
                                            : figures.simulated_s / figures.duration_s);
}

/// ", 980,000/s, 0:12 left"
std::string rate_text(const ProgressFigures& figures) {
  if (figures.elapsed_s <= 0 || figures.ended == 0) return "";
  const double rate = static_cast<double>(figures.ended) / figures.elapsed_s;
  std::string text = ", " + with_commas(static_cast<std::uint64_t>(rate)) + "/s";
  const double share = share_of(figures);
  if (share > 0 && share < 1) text += ", " + clock_text(figures.elapsed_s * (1 - share) / share) + " left";
  return text;
}

/// "0:59 of 10:00 simulated"
std::string simulated_text(const ProgressFigures& figures) {
  const bool by_time = figures.expected == 0 && figures.duration_s > 0;
  return clock_text(figures.simulated_s) + (by_time ? " of " + clock_text(figures.duration_s) : "") + " simulated";
}

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string progress_line(const ProgressFigures& figures) {
  std::string text = with_commas(figures.ended);
  if (figures.expected > 0) text += " of " + with_commas(figures.expected);
  text += " requests";
  if (has_share(figures)) text += fmt::format(" ({:.0f} %)", 100 * share_of(figures));
  return text + rate_text(figures) + ", " + simulated_text(figures);
}

/// Fits 80 columns up to a billion requests.
std::string progress_bar(const ProgressFigures& figures) {
  if (!has_share(figures)) return progress_line(figures);
  constexpr std::size_t kCells = 16;
  const auto full = static_cast<std::size_t>(share_of(figures) * kCells);
  const std::string done = figures.expected > 0 ? with_commas(figures.ended) + " of " + with_commas(figures.expected)
                                                : simulated_text(figures);
  return fmt::format("[{}{}] {:.0f} %, {}{}", std::string(full, '='), std::string(kCells - full, ' '),
                     100 * share_of(figures), done, rate_text(figures));
}

Progress::Progress(const Terminal& terminal, std::uint64_t expected, double duration_s)
    : style_(!terminal.shows_progress()        ? Style::kNone
             : terminal.progress_is_terminal() ? Style::kBar
                                               : Style::kLines),
      expected_(expected),
      duration_s_(duration_s),
      start_(Clock::now()),
      next_(start_ + (style_ == Style::kBar ? Clock::duration(kBarEvery) : Clock::duration(kLineEvery))) {}

void Progress::update(std::uint64_t ended, double simulated_s) {
  if (style_ == Style::kNone) return;
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  next_ = now + (style_ == Style::kBar ? Clock::duration(kBarEvery) : Clock::duration(kLineEvery));
  const ProgressFigures figures{ended, expected_, duration_s_, simulated_s,
                                std::chrono::duration<double>(now - start_).count()};
  if (style_ == Style::kBar) {
    const std::string bar = progress_bar(figures).substr(0, terminal_width() - 1);
    std::fprintf(stderr, "\r\x1b[K%s", bar.c_str());
    std::fflush(stderr);
    is_drawn_ = true;
  } else {
    std::fprintf(stderr, "%s\n", progress_line(figures).c_str());
  }
}

void Progress::clear() {
  if (!is_drawn_) return;
  is_drawn_ = false;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

}  // namespace dooly::cli
