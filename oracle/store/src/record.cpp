#include "oracle_store/record.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace dooly::store {
namespace {

using oracle::ClockRegime;
using oracle::SampleStatus;

constexpr std::array<std::string_view, 3> kRegimes = {"cool", "sustained", "unknown"};
constexpr std::array<std::string_view, 5> kStatuses = {"ok", "out_of_memory", "launch_failed", "unsupported",
                                                       "suspect"};

template <typename Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

std::string value_text(const oracle::OperatorKey::Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  std::string out;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) oracle::append_json(out, *whole);
  if (const auto* real = std::get_if<double>(&value)) oracle::append_json(out, *real);
  return out;
}

bool is_utf8(const std::string& text) {
  try {
    std::string ignored;
    oracle::append_json(ignored, std::string_view(text));
    return true;
  } catch (const oracle::OracleError&) {
    return false;
  }
}

struct Compare {
  std::strong_ordering operator()(const EnvironmentRecord& left, const EnvironmentRecord& right) const {
    return left.id <=> right.id;
  }
  std::strong_ordering operator()(const KeyRecord& left, const KeyRecord& right) const {
    return left.signature <=> right.signature;
  }
  std::strong_ordering operator()(const SampleRecord& left, const SampleRecord& right) const {
    const auto identity = [](const SampleRecord& at) {
      return std::tie(at.environment_id, at.signature, at.sample.regime, at.sample.point);
    };
    return identity(left) <=> identity(right);
  }
  std::strong_ordering operator()(const Document& left, const Document& right) const {
    return left.name <=> right.name;
  }
};

struct Title {
  const oracle::OperatorKey* key;
  std::string operator()(const EnvironmentRecord& record) const {
    return "environment " + record.id.substr(0, 12) + " (" + title(record.environment) + ")";
  }
  std::string operator()(const KeyRecord& record) const {
    return "operator " + record.signature.hex().substr(0, 12) + " (" + title(record.key) + ")";
  }
  std::string operator()(const SampleRecord& record) const {
    return fmt::format("sample of {} ({}) in environment {}, {}, point {}", record.signature.hex().substr(0, 12),
                       key != nullptr ? title(*key) : "operator not known", record.environment_id.substr(0, 12),
                       regime_name(record.sample.regime), point_text(record.sample.point));
  }
  std::string operator()(const PlanRecord& record) const { return "plan " + printable(record.name); }
  std::string operator()(const CommRecord& record) const { return "collectives " + printable(record.name); }
};

}  // namespace

std::string_view regime_name(ClockRegime regime) { return kRegimes.at(static_cast<std::size_t>(regime)); }
std::string_view status_name(SampleStatus status) { return kStatuses.at(static_cast<std::size_t>(status)); }
std::optional<ClockRegime> regime_named(std::string_view name) { return named<ClockRegime>(kRegimes, name); }
std::optional<SampleStatus> status_named(std::string_view name) { return named<SampleStatus>(kStatuses, name); }

std::strong_ordering compare_identity(const Record& left, const Record& right) {
  if (left.index() != right.index()) return left.index() <=> right.index();
  return std::visit([&](const auto& held) { return Compare{}(held, std::get<std::decay_t<decltype(held)>>(right)); },
                    left);
}

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool begins = (byte & 0xc0) != 0x80;  // a character of UTF-8, which is not cut
    if (begins && out.size() >= most) return out + "...";
    const bool is_c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_c1)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    else if (byte < 0x20 || byte == 0x7f)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += text[i];
  }
  return out;
}

std::string title(const Record& record, const oracle::OperatorKey* key) { return std::visit(Title{key}, record); }

std::string title(const oracle::OperatorKey& key) {
  std::string text = fmt::format("{} {} {}", key.kind, fmt::join(key.dims, "x"), fmt::join(key.dtypes, ","));
  if (!key.family.empty()) text += " " + key.family;
  std::vector<std::string> attributes;
  for (const auto& [name, value] : key.attributes) attributes.push_back(name + " " + value_text(value));
  if (!attributes.empty()) text += fmt::format(" ({})", fmt::join(attributes, ", "));
  return printable(text);
}

std::string title(const oracle::Environment& environment) {
  std::vector<std::string> parts = {environment.gpu};
  for (const auto& [name, version] : environment.libraries) parts.push_back(name + " " + version);
  if (!environment.topology.empty()) parts.push_back(environment.topology);
  if (!environment.source.empty()) parts.push_back(environment.source);
  return printable(fmt::format("{}", fmt::join(parts, ", ")));
}

std::string point_text(const oracle::SamplePoint& point) {
  std::size_t used = point.size();
  while (used > 1 && point[used - 1] == 0) --used;
  return fmt::format("{}", fmt::join(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(used), "/"));
}

std::string fault_of(const oracle::Sample& sample) {
  const std::pair<std::string_view, double> times[] = {{"median_s", sample.median_s}, {"mean_s", sample.mean_s},
                                                       {"std_s", sample.std_s},       {"min_s", sample.min_s},
                                                       {"p10_s", sample.p10_s},       {"p90_s", sample.p90_s}};
  for (const auto& [name, value] : times)
    if (!(value >= 0 && value <= oracle::kLongestRunS))
      return fmt::format("{} must be a time from 0 to {} s, got {}", name, oracle::kLongestRunS, value);
  if (sample.status == oracle::SampleStatus::kOk && !(sample.median_s > 0))
    return fmt::format("median_s must be more than 0 where the status is ok, got {}", sample.median_s);
  const std::pair<std::string_view, double> figures[] = {{"sm_clock_mhz", sample.sm_clock_mhz},
                                                         {"power_w", sample.power_w}};
  for (const auto& [name, value] : figures)
    if (!(value >= 0 && std::isfinite(value)))
      return fmt::format("{} must be finite and not negative, got {}", name, value);
  if (!std::isfinite(sample.temperature_c))
    return fmt::format("temperature_c must be finite, got {}", sample.temperature_c);
  if (!(sample.processes >= 0 && sample.processes <= sample.count && std::trunc(sample.processes) == sample.processes))
    return fmt::format("processes must be a whole number up to the count of {}, got {}", sample.count,
                       sample.processes);
  if (static_cast<std::size_t>(sample.regime) >= kRegimes.size()) return "regime is none";
  if (static_cast<std::size_t>(sample.status) >= kStatuses.size()) return "status is none";
  for (const std::uint64_t word : sample.point)
    if (word > std::uint64_t{1} << 53) return fmt::format("point must hold numbers up to 2^53, got {}", word);
  bool clean = is_utf8(sample.kernel_family) && is_utf8(sample.note);
  for (const std::string& kernel : sample.kernels) clean = clean && is_utf8(kernel);
  return clean ? "" : "text must be UTF-8";
}

}  // namespace dooly::store
