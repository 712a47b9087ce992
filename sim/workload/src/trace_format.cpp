#include "trace_format.hpp"

#include "scenarios/utf8.hpp"

#include "number_text.hpp"
#include "scenarios/nearest.hpp"
#include "workload/sampler.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace dooly::workload {
namespace {

using enum Meaning;

constexpr FieldRule kAzure[] = {
    {"TIMESTAMP", kArrival, true, 0}, {"ContextTokens", kPrompt, true}, {"GeneratedTokens", kOutput, true}};
constexpr FieldRule kBurstGpt[] = {{"Timestamp", kArrival, true},     {"Model", kNothing},
                                   {"Request tokens", kPrompt, true}, {"Response tokens", kOutput, true},
                                   {"Total tokens", kNothing},        {"Log Type", kNothing}};
constexpr FieldRule kVidur[] = {
    {"arrived_at", kArrival, true}, {"num_prefill_tokens", kPrompt, true}, {"num_decode_tokens", kOutput, true}};
constexpr FieldRule kShareGpt[] = {{"num_prefill_tokens", kPrompt, true}, {"num_decode_tokens", kOutput, true}};
constexpr FieldRule kApex[] = {{"start_time_offset_ns", kArrival, true, 1e9},
                               {"context_tokens", kPrompt, true},
                               {"generated_tokens", kOutput, true}};
constexpr FieldRule kMooncake[] = {{"timestamp", kArrival, true, 1e3},
                                   {"input_length", kPrompt, true},
                                   {"output_length", kOutput, true},
                                   {"hash_ids", kBlockIds, true}};
constexpr FieldRule kLlmServingSim[] = {{"input_toks", kPrompt, true},
                                        {"output_toks", kOutput, true},
                                        {"arrival_time_ns", kArrival, true, 1e9},
                                        {"hash_ids", kBlockIds}};
constexpr FieldRule kDooly[] = {{"arrival_s", kArrival},
                                {"prompt_tokens", kPrompt, true},
                                {"output_tokens", kOutput, true},
                                {"id", kId},
                                {"class", kClass},
                                {"priority", kPriority},
                                {"session", kSession},
                                {"turn", kTurn},
                                {"after_s", kAfter},
                                {"deadline_s", kDeadline},
                                {"prefix_id", kPrefixId},
                                {"prefix_tokens", kPrefixTokens},
                                {"block_ids", kBlockIds},
                                {"block_size", kBlockSize}};

using Encoding = TraceFormat::Encoding;
using BlockCount = TraceFormat::BlockCount;
constexpr TraceFormat kFormats[] = {
    {.name = "azure", .encoding = Encoding::kCsv, .fields = kAzure, .from_first_row = true},
    {.name = "mooncake",
     .encoding = Encoding::kJsonLines,
     .fields = kMooncake,
     .block_size = 512,
     .block_count = BlockCount::kCeil},
    {.name = "burstgpt", .encoding = Encoding::kCsv, .fields = kBurstGpt, .skip_empty_outputs = true},
    {.name = "vidur", .encoding = Encoding::kCsv, .fields = kVidur},
    {.name = "llmservingsim",
     .encoding = Encoding::kJsonLines,
     .fields = kLlmServingSim,
     .block_size = 16,
     .block_count = BlockCount::kFloorOrCeil},
    {.name = "sharegpt", .encoding = Encoding::kCsv, .fields = kShareGpt},
    {.name = "apex", .encoding = Encoding::kCsv, .fields = kApex},
    {.name = "dooly",
     .encoding = Encoding::kEither,
     .fields = kDooly,
     .block_count = BlockCount::kFloorOrCeil,
     .refuse_unknown_fields = true},
};

/// Days since 1970 of a date in the Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = year / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

/// Takes `count` digits off the front of `text` and, unless it is 0, the character `then`.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t count, char then) {
  if (text.size() < count + (then != 0 ? 1 : 0)) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : text.substr(0, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (then != 0 && text[count] != then) return std::nullopt;
  text.remove_prefix(count + (then != 0 ? 1 : 0));
  return value;
}

/// Seconds east of UTC; nothing left after it.
std::optional<std::int64_t> zone_offset(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  const char sign = text[0];
  if (sign != '+' && sign != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_digits(text, 2, 0);
  if (text.starts_with(':')) text.remove_prefix(1);
  const auto minutes = text.empty() ? std::optional<std::int64_t>(0) : take_digits(text, 2, 0);
  if (!hours || !minutes || !text.empty() || *hours > 14 || *minutes > 59) return std::nullopt;
  return (*hours * 3600 + *minutes * 60) * (sign == '-' ? -1 : 1);
}

}  // namespace

std::optional<std::int64_t> parse_date_time(std::string_view text) {
  const auto year = take_digits(text, 4, '-');
  const auto month = take_digits(text, 2, '-');
  const auto day = take_digits(text, 2, 0);
  if (!year || !month || !day || text.empty() || (text[0] != ' ' && text[0] != 'T')) return std::nullopt;
  text.remove_prefix(1);
  const auto hour = take_digits(text, 2, ':');
  const auto minute = take_digits(text, 2, ':');
  const auto second = take_digits(text, 2, 0);
  if (!hour || !minute || !second) return std::nullopt;
  if (*year < 1970 || *year > 2200 || *month < 1 || *month > 12 || *day < 1 || *day > 31) return std::nullopt;
  if (*hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::int64_t fraction = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    std::size_t digits = 0;
    std::int64_t scale = 1'000'000'000;
    for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
      scale /= 10;
      fraction += scale * (text[digits] - '0');
    }
    if (digits == 0) return std::nullopt;
    text.remove_prefix(digits);
  }
  const auto zone = zone_offset(text);
  if (!zone) return std::nullopt;
  const std::int64_t seconds =
      days_since_1970(*year, *month, *day) * 86400 + *hour * 3600 + *minute * 60 + *second - *zone;
  return seconds * 1'000'000'000 + fraction;
}

const FieldRule* TraceFormat::find(std::string_view field) const {
  const auto found =
      std::find_if(fields.begin(), fields.end(), [&](const FieldRule& rule) { return rule.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

std::string TraceFormat::known_fields(std::string_view unknown) const {
  std::vector<std::string_view> names;
  for (const FieldRule& field : fields) names.push_back(field.name);
  const std::string_view near = scenario::nearest(unknown, names);
  return (near.empty() ? std::string() : fmt::format("; did you mean '{}'", near)) +
         fmt::format("; known: {}", fmt::join(names, " "));
}

const TraceFormat* row_format(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFormats), std::end(kFormats), [&](const TraceFormat& f) { return f.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

namespace {

constexpr double kMaxSeconds = 1e10;  // beyond: taken for a mistake (317 years; dates in seconds since 1970 pass)

std::string shown(std::string_view text) {
  return text.size() > 60 ? fmt::format("'{}…'", text.substr(0, 60)) : fmt::format("'{}'", text);
}

}  // namespace

double FieldSetter::time(const TraceRow& row, const FieldRule& rule, std::string_view text) {
  if (rule.per_second == 0) {
    const auto ns = parse_date_time(text);
    if (!ns) reader_.refuse(row, rule.name, fmt::format("want a date and time, got {}", shown(text)));
    if (!first_ns_) first_ns_ = ns;
    if (*ns < *first_ns_) return -static_cast<double>(*first_ns_ - *ns) / 1e9;
    return static_cast<double>(*ns - *first_ns_) / 1e9;
  }
  const auto number = number_in(text);
  if (!number) reader_.refuse(row, rule.name, fmt::format("want a number, got {}", shown(text)));
  const double seconds = *number / rule.per_second;
  if (!(seconds >= 0 && seconds <= kMaxSeconds))
    reader_.refuse(row, rule.name, fmt::format("want a time from 0 to {:.0f} s, got {}", kMaxSeconds, shown(text)));
  return seconds;
}

void FieldSetter::set(TraceRow& row, const FieldRule& rule, std::string_view text) {
  const auto whole = [&](std::int64_t low, std::int64_t high) {
    const auto value = whole_in(text);
    if (!value) reader_.refuse(row, rule.name, fmt::format("want a whole number, got {}", shown(text)));
    if (*value < low || *value > high)
      reader_.refuse(row, rule.name, fmt::format("must be from {} to {}, got {}", low, high, *value));
    return *value;
  };
  const auto identity = [&] {
    const auto value = unsigned_in(text);
    if (!value || *value == std::numeric_limits<std::uint64_t>::max())
      reader_.refuse(row, rule.name, fmt::format("want a whole number from 0 to 2^64 - 2, got {}", shown(text)));
    return *value;
  };
  const auto tokens = [&](std::int64_t low) { return static_cast<std::uint32_t>(whole(low, kMaxTokens)); };
  switch (rule.meaning) {
    case kNothing: break;
    case kArrival: row.arrival_s = time(row, rule, text); break;
    case kPrompt: row.prompt_tokens = tokens(1); break;
    case kOutput: row.output_tokens = tokens(format_.skip_empty_outputs ? 0 : 1); break;
    case kId: row.id = identity(); break;
    case kClass:
      if (text.size() > 100) reader_.refuse(row, rule.name, "longer than 100 bytes");
      if (std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }))
        reader_.refuse(row, rule.name, "holds a control character");
      if (scenario::first_invalid_utf8(text) != std::string_view::npos) reader_.refuse(row, rule.name, "is not UTF-8");
      row.class_name = text;
      break;
    case kPriority: row.priority = static_cast<std::int32_t>(whole(-2147483648LL, 2147483647LL)); break;
    case kSession: row.session = identity(); break;
    case kTurn: row.turn = tokens(0); break;
    case kAfter: row.after_s = time(row, rule, text); break;
    case kDeadline: row.deadline_s = time(row, rule, text); break;
    case kPrefixId: row.prefix_id = identity(); break;
    case kPrefixTokens: row.prefix_tokens = tokens(1); break;
    case kBlockSize: row.block_size = tokens(1); break;
    case kBlockIds: {  // as a cell: numbers between spaces, commas or semicolons, with or without brackets
      const auto separates = [](char c) { return c == ' ' || c == ',' || c == ';' || c == '[' || c == ']'; };
      for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && !separates(text[end])) ++end;
        if (end > at) {
          const auto id = unsigned_in(text.substr(at, end - at));
          if (!id)
            reader_.refuse(row, rule.name, fmt::format("want whole numbers, got {}", shown(text.substr(at, end - at))));
          row.block_ids.push_back(*id);
        }
        at = end + 1;
      }
    }
  }
}

void FieldSetter::check_blocks(const TraceRow& row) const {
  const bool all_listed = format_.block_count == TraceFormat::BlockCount::kCeil;
  if (row.block_ids.empty() && !all_listed) return;
  const bool own = format_.block_size == 0;
  const std::string_view field = own ? "block_ids" : "hash_ids";
  if (row.block_size == 0) reader_.refuse(row, field, "no block size: write it in the header comment, # block_size=16");
  const std::size_t full = row.prompt_tokens / row.block_size;
  const std::size_t all = full + (row.prompt_tokens % row.block_size != 0 ? 1 : 0);
  const std::size_t have = row.block_ids.size();
  if (have == all || (have == full && !all_listed)) return;
  const std::string want = all_listed || full == all ? fmt::format("{}", all) : fmt::format("{} or {}", full, all);
  reader_.refuse(
      row, field,
      fmt::format("want {} ids for {} tokens in blocks of {}, have {}", want, row.prompt_tokens, row.block_size, have));
}

void FieldSetter::check(const TraceRow& row) const {
  check_blocks(row);
  if (!format_.refuse_unknown_fields) return;  // the rest concerns dooly-trace alone
  if (row.prefix_id.has_value() != (row.prefix_tokens > 0))
    reader_.refuse(row, row.prefix_id ? "prefix_tokens" : "prefix_id",
                   "missing: prefix_id and prefix_tokens go together");
  if (row.prefix_tokens > row.prompt_tokens)
    reader_.refuse(row, "prefix_tokens",
                   fmt::format("{} exceed the {} prompt tokens", row.prefix_tokens, row.prompt_tokens));
  if (row.prefix_id && !row.block_ids.empty())
    reader_.refuse(row, "block_ids", "give block_ids or prefix_id, not both");
  if (row.turn && !row.session) reader_.refuse(row, "session", "missing: turn needs it");
  if (row.after_s && !row.session) reader_.refuse(row, "session", "missing: after_s needs it");
  if (!row.arrival_s && !row.after_s) reader_.refuse(row, "arrival_s", "missing");
  if (row.deadline_s && row.arrival_s && *row.deadline_s < *row.arrival_s)
    reader_.refuse(row, "deadline_s", fmt::format("{} is before the arrival {}", *row.deadline_s, *row.arrival_s));
}

}  // namespace dooly::workload
