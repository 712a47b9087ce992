// Measures listed points: the sweep's measurer without the sweep.
#include "oracle/kernel_families.hpp"
#include "oracle/operator_key.hpp"
#include "oracle_store/portable_file.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_measure/device_lost.hpp"
#include "profiling_measure/local_measurer.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace std::string_view_literals;
namespace oracle = dooly::oracle;
namespace profiling = dooly::profiling;

constexpr auto kUsage =
    "usage: measure-points --points FILE.jsonl --out FILE.jsonl.zst [--device cpu|cuda] [--kernels torch|FOLDER]\n"
    "                      [--attention fa3|fa2|triton|flashinfer] [--seconds N] [--interval R]\n"
    "Lines of FILE.jsonl: {\"key\": {...}, \"point\": [...], \"regime\": \"cool\"|\"sustained\"}; points that the out\n"
    "file holds are skipped. Status 0: all measured; 2: bad input; 3: the time was up; 5: the device is lost.\n"sv;

struct Point {
  oracle::OperatorKey key;
  oracle::SamplePoint at{};
  oracle::ClockRegime regime = oracle::ClockRegime::kCool;
};

struct Options {
  std::string points, out;
  double seconds = 1e9;
  profiling::MeasureSettings settings;
};

Options read_options(int count, char** words) {
  Options options;
  std::string seconds, interval;
  const std::map<std::string_view, std::string*> names = {{"--points", &options.points},
                                                          {"--out", &options.out},
                                                          {"--device", &options.settings.device},
                                                          {"--kernels", &options.settings.kernels},
                                                          {"--attention", &options.settings.attention},
                                                          {"--seconds", &seconds},
                                                          {"--interval", &interval}};
  for (int i = 1; i < count; i += 2) {
    const auto found = names.find(words[i]);
    if (found == names.end() || i + 1 == count) {
      throw profiling::ProfilingError(fmt::format("{}\n{}", words[i], kUsage));
    }
    *found->second = words[i + 1];
  }
  if (options.points.empty() || options.out.empty()) {
    throw profiling::ProfilingError(std::string(kUsage));
  }
  if (!seconds.empty()) {
    options.seconds = std::stod(seconds);
  }
  if (!interval.empty()) {
    options.settings.limits.interval = std::stod(interval);
  }
  return options;
}

Point read_point(const std::string& line) {
  const auto json = nlohmann::json::parse(line);
  Point point;
  point.key = oracle::parse_operator_key(json.at("key").dump());
  const auto values = json.at("point").get<std::vector<std::uint64_t>>();
  if (values.empty() || values.size() > point.at.size()) {
    throw profiling::ProfilingError(fmt::format("a point has 1 to {} numbers, not {}", point.at.size(), values.size()));
  }
  std::copy(values.begin(), values.end(), point.at.begin());
  const auto regime = json.value("regime", "cool");
  if (regime != "cool" && regime != "sustained") {
    throw profiling::ProfilingError(fmt::format("regime '{}': allowed: cool, sustained", regime));
  }
  point.regime = regime == "cool" ? oracle::ClockRegime::kCool : oracle::ClockRegime::kSustained;
  return point;
}

std::vector<Point> read_points(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw profiling::ProfilingError(path + ": cannot be read");
  }
  std::vector<Point> points;
  std::size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) {
      continue;
    }
    try {
      points.push_back(read_point(line));
    } catch (const std::exception& error) {
      throw profiling::ProfilingError(fmt::format("{}:{}: {}", path, number, error.what()));
    }
  }
  return points;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print(const Point& point, const oracle::Sample& sample, double cost_s) {
  fmt::print("{} {} [{}] {}: {:.3f} us (std {:.1f} %, n {}) {:.0f} MHz {:.0f} W {:.0f} C, {:.0f} ms {} {}\n",
             point.key.kind, fmt::join(point.key.dims, "x"), fmt::join(point.at, ","),
             point.regime == oracle::ClockRegime::kCool ? "cool" : "sustained", sample.median_s * 1e6,
             sample.mean_s > 0 ? 100 * sample.std_s / sample.mean_s : 0, sample.count, sample.sm_clock_mhz,
             sample.power_w, sample.temperature_c, cost_s * 1e3, sample.kernel_family, sample.note);
  std::fflush(stdout);
}

int measure_all(const Options& options) {
  const std::vector<Point> points = read_points(options.points);
  const auto start = std::chrono::steady_clock::now();
  const auto measurer = profiling::make_measurer(options.settings);
  dooly::store::PortableSink sink(options.out);
  const auto environment = measurer->environment();
  fmt::print("{} points on {}, ready after {:.1f} s\n", points.size(), oracle::canonical_json(environment),
             seconds_since(start));
  bool all = true;
  for (const Point& point : points) {
    sink.environment(oracle::environment_of(point.key, environment));
    if (sink.has(point.key, point.regime, point.at)) {
      continue;
    }
    if (seconds_since(start) > options.seconds) {
      all = false;
      break;
    }
    const auto begin = std::chrono::steady_clock::now();
    const oracle::Sample sample = measurer->measure(point.key, point.at, point.regime);
    sink.sample(point.key, sample);
    print(point, sample, seconds_since(begin));
  }
  fmt::print("{} records after {:.1f} s\n", sink.finish(), seconds_since(start));
  return all ? 0 : 3;
}

}  // namespace

int main(int count, char** words) {
  try {
    return measure_all(read_options(count, words));
  } catch (const profiling::DeviceLost& error) {
    fmt::print(stderr, "measure-points: the device is lost: {}\n", error.what());
    return 5;
  } catch (const std::exception& error) {
    fmt::print(stderr, "measure-points: {}\n", error.what());
    return 2;
  }
}
