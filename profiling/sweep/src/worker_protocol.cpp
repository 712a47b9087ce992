#include "worker_protocol.hpp"

#include "oracle_store/portable_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <variant>

namespace dooly::profiling {
namespace {

bool write_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(socket, text.data(), text.size());
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string sample_line(const oracle::Environment& environment, const oracle::OperatorKey& key,
                        const oracle::Sample& sample) {
  return store::portable_line(
      store::SampleRecord{oracle::environment_id(environment), oracle::signature_of(key), sample});
}

std::string measured(Measurer& measurer, const oracle::Environment& environment, const std::string& arguments,
                     bool& is_lost) {
  std::istringstream words(arguments);
  int regime = 0;
  words >> regime;
  oracle::SamplePoint point{};
  for (std::uint64_t& word : point) words >> word;
  std::string json;
  std::getline(words >> std::ws, json);
  const oracle::OperatorKey key = oracle::parse_operator_key(json);
  try {
    return "sample " +
           sample_line(environment, key, measurer.measure(key, point, static_cast<oracle::ClockRegime>(regime)));
  } catch (const std::exception& error) {
    is_lost = true;
    return "lost " + one_line(error.what());
  }
}

std::string answer_to(Measurer& measurer, const oracle::Environment& environment, const std::string& line,
                      bool& is_lost) {
  const std::size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  if (verb == "environment") return "environment " + canonical_json(environment);
  if (verb == "measure") return measured(measurer, environment, rest, is_lost);
  std::string why;
  const bool does = measurer.supports(oracle::parse_operator_key(rest), why);
  return does ? "yes" : "no " + one_line(why);
}

/// False at the end of the conversation.
bool next_line(int socket, std::string& buffer, std::string& line) {
  for (;;) {
    if (const std::size_t end = buffer.find('\n'); end != std::string::npos) {
      line = buffer.substr(0, end);
      buffer.erase(0, end + 1);
      return true;
    }
    char chunk[4096];
    const ssize_t got = ::read(socket, chunk, sizeof chunk);
    if (got <= 0) return false;
    buffer.append(chunk, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string measure_question(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                             oracle::ClockRegime regime) {
  return fmt::format("measure {} {} {}", static_cast<int>(regime), fmt::join(point, " "), canonical_json(key));
}

oracle::Sample parse_sample_answer(const std::string& text) {
  return std::get<store::SampleRecord>(store::parse_portable_line(text)).sample;
}

int serve_worker(int socket, const MeasurerFactory& factory) {
  try {
    const std::unique_ptr<Measurer> measurer = factory();
    const oracle::Environment environment = measurer->environment();
    std::string buffer, line;
    bool is_lost = false;
    while (!is_lost && next_line(socket, buffer, line))
      if (!write_all(socket, answer_to(*measurer, environment, line, is_lost) + "\n")) break;
    return is_lost ? 3 : 0;
  } catch (const std::exception& error) {
    write_all(socket, "error " + one_line(error.what()) + "\n");
    return 2;
  }
}

}  // namespace dooly::profiling
