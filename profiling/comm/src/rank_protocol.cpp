#include "rank_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace dooly::profiling {

std::string prepare_question(const CommWork& work) {
  return fmt::format("prepare {} {} {} {} {}", name_of(work.collective.kind), work.collective.dtype, work.bytes,
                     work.mode == LaunchMode::kIsolated ? "isolated" : "back-to-back", work.launches);
}

CommWork parse_prepare(std::string_view words, std::uint32_t ranks) {
  std::istringstream in{std::string(words)};
  std::string kind, mode;
  CommWork work;
  in >> kind >> work.collective.dtype >> work.bytes >> mode >> work.launches;
  const auto known = collective_named(kind);
  if (in.fail() || !known) throw std::runtime_error("cannot read '" + std::string(words) + "'");
  work.collective.kind = *known;
  work.collective.ranks = ranks;
  work.mode = mode == "isolated" ? LaunchMode::kIsolated : LaunchMode::kBackToBack;
  return work;
}

std::string times_answer(const RankTimes& times) {
  std::string text =
      fmt::format("times {} {} {}", times.reading.sm_clock_mhz, times.reading.power_w, times.reading.temperature_c);
  for (const double seconds : times.seconds) text += fmt::format(" {}", seconds);
  return text;
}

RankTimes parse_times(const std::string& answer) {
  std::istringstream in(answer);
  std::string word;
  RankTimes times;
  in >> word >> times.reading.sm_clock_mhz >> times.reading.power_w >> times.reading.temperature_c;
  if (in.fail() || word != "times") throw std::runtime_error("instead of times came '" + answer + "'");
  for (double seconds = 0; in >> seconds;) times.seconds.push_back(seconds);
  return times;
}

std::vector<double> slowest(const std::vector<RankTimes>& ranks) {
  std::vector<double> seconds = ranks.front().seconds;
  for (const RankTimes& rank : ranks) {
    if (rank.seconds.size() != seconds.size())
      throw std::runtime_error(fmt::format("ranks repeated {} and {} times", seconds.size(), rank.seconds.size()));
    for (std::size_t i = 0; i < seconds.size(); ++i) seconds[i] = std::max(seconds[i], rank.seconds[i]);
  }
  return seconds;
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

std::string bytes_of_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

}  // namespace dooly::profiling
