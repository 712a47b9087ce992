#include "portable_line.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/store_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace dooly::store {
namespace {

using nlohmann::json;
using oracle::append_json;

// Members of a sample's line in canonical order, as far as they are plain numbers; those that are 0 are left out.
struct Figure {
  std::string_view name;
  double oracle::Sample::*member;
};
constexpr Figure kFigures[] = {
    {"mean_s", &oracle::Sample::mean_s},       {"median_s", &oracle::Sample::median_s},
    {"min_s", &oracle::Sample::min_s},         {"p10_s", &oracle::Sample::p10_s},
    {"p90_s", &oracle::Sample::p90_s},         {"power_w", &oracle::Sample::power_w},
    {"processes", &oracle::Sample::processes}, {"sm_clock_mhz", &oracle::Sample::sm_clock_mhz},
    {"std_s", &oracle::Sample::std_s},         {"temperature_c", &oracle::Sample::temperature_c}};

/// Writes the members of one object in the order they are asked for, which must be the canonical one.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  std::string& name(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void text(std::string_view member, std::string_view value) { append_json(name(member), value); }
  void number(std::string_view member, double value) {
    if (value != 0) append_json(name(member), value);
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

void append_sample(std::string& out, const SampleRecord& record) {
  const oracle::Sample& sample = record.sample;
  ObjectWriter object(out);
  const auto figure = [&](std::size_t i) { object.number(kFigures[i].name, sample.*kFigures[i].member); };
  if (sample.count != 0) append_json(object.name("count"), std::uint64_t{sample.count});
  object.text("environment", record.environment_id);
  if (!sample.kernel_family.empty()) object.text("kernel_family", sample.kernel_family);
  if (!sample.kernels.empty()) {
    std::string& list = object.name("kernels");
    for (std::size_t i = 0; i < sample.kernels.size(); ++i) {
      list += i == 0 ? '[' : ',';
      append_json(list, std::string_view(sample.kernels[i]));
    }
    list += ']';
  }
  for (std::size_t i = 0; i < 3; ++i) figure(i);
  if (!sample.note.empty()) object.text("note", sample.note);
  figure(3), figure(4);
  std::string& list = object.name("point");
  std::size_t used = sample.point.size();
  while (used > 0 && sample.point[used - 1] == 0) --used;
  list += '[';
  for (std::size_t i = 0; i < used; ++i) {
    if (i > 0) list += ',';
    append_json(list, sample.point[i]);
  }
  list += ']';
  figure(5), figure(6);
  object.text("record", "sample");
  object.text("regime", regime_name(sample.regime));
  object.text("signature", record.signature.hex());
  figure(7);
  if (sample.status != oracle::SampleStatus::kOk) object.text("status", status_name(sample.status));
  figure(8), figure(9);
  object.end();
}

struct AppendLine {
  std::string& out;
  void operator()(const EnvironmentRecord& record) const {
    ObjectWriter object(out);
    object.name("environment") += oracle::canonical_json(record.environment);
    object.text("id", record.id);
    object.text("record", "environment");
    object.end();
  }
  void operator()(const KeyRecord& record) const {
    ObjectWriter object(out);
    object.name("key") += oracle::canonical_json(record.key);
    object.text("record", "operator");
    object.text("signature", record.signature.hex());
    object.end();
  }
  void operator()(const SampleRecord& record) const { append_sample(out, record); }
  void operator()(const PlanRecord& record) const { document(record, "plan"); }
  void operator()(const CommRecord& record) const { document(record, "collectives"); }
  void document(const Document& record, std::string_view kind) const {
    ObjectWriter object(out);
    object.name("json") += record.json;
    object.text("name", record.name);
    object.text("record", kind);
    object.end();
  }
};

// --- any spelling, by a JSON parser

[[noreturn]] void refuse(std::string_view member, std::string_view what) {
  throw StoreError(fmt::format("{}: {}", member, what));
}

const std::string& text_of(const json& value, std::string_view member) {
  if (!value.is_string()) refuse(member, "must be text, got " + value.dump());
  return value.get_ref<const std::string&>();
}

std::uint64_t whole_of(const json& value, std::string_view member, std::uint64_t limit) {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (!(number >= 0 && number <= static_cast<double>(limit) && std::trunc(number) == number))
    refuse(member, fmt::format("must be a whole number from 0 to {}, got {}", limit, value.dump()));
  return static_cast<std::uint64_t>(number);
}

oracle::SamplePoint point_of(const json& value) {
  oracle::SamplePoint point{};
  if (!value.is_array() || value.size() > point.size()) refuse("point", "must be a list of at most 7 numbers");
  for (std::size_t i = 0; i < value.size(); ++i) point[i] = whole_of(value[i], "point", std::uint64_t{1} << 53);
  return point;
}

void set_member(SampleRecord& record, const std::string& name, const json& value) {
  oracle::Sample& sample = record.sample;
  for (const Figure& figure : kFigures) {
    if (figure.name != name) continue;
    if (!value.is_number()) refuse(name, "must be a number, got " + value.dump());
    sample.*figure.member = value.get<double>();
    return;
  }
  if (name == "count") {
    sample.count = static_cast<std::uint32_t>(whole_of(value, name, std::numeric_limits<std::uint32_t>::max()));
  } else if (name == "environment") {
    record.environment_id = text_of(value, name);
  } else if (name == "signature") {
    record.signature = oracle::Signature::from_hex(text_of(value, name));
  } else if (name == "kernel_family") {
    sample.kernel_family = text_of(value, name);
  } else if (name == "note") {
    sample.note = text_of(value, name);
  } else if (name == "point") {
    sample.point = point_of(value);
  } else if (name == "kernels") {
    if (!value.is_array()) refuse(name, "must be a list, got " + value.dump());
    for (const json& kernel : value) sample.kernels.push_back(text_of(kernel, name));
  } else if (name == "regime") {
    const auto regime = regime_named(text_of(value, name));
    if (!regime) refuse(name, "must be cool, sustained or unknown, got " + value.dump());
    sample.regime = *regime;
  } else if (name == "status") {
    const auto status = status_named(text_of(value, name));
    if (!status) refuse(name, "must be ok, out_of_memory, launch_failed, unsupported or suspect, got " + value.dump());
    sample.status = *status;
  } else if (name != "record") {
    refuse(name, "no member of a sample");
  }
}

const json& member_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) refuse(name, "missing");
  return *found;
}

void allow_only(const json& object, std::initializer_list<std::string_view> members) {
  for (const auto& [name, value] : object.items())
    if (std::find(members.begin(), members.end(), name) == members.end()) refuse(name, "unknown");
}

Record parse_object(const json& object) {
  const std::string& kind = text_of(member_of(object, "record"), "record");
  if (kind == "sample") {
    SampleRecord record;
    for (const char* needed : {"environment", "signature", "regime", "point"}) member_of(object, needed);
    for (const auto& [name, value] : object.items()) set_member(record, name, value);
    return record;
  }
  if (kind == "environment") {
    allow_only(object, {"record", "id", "environment"});
    return EnvironmentRecord{text_of(member_of(object, "id"), "id"),
                             oracle::parse_environment(member_of(object, "environment").dump())};
  }
  if (kind == "operator") {
    allow_only(object, {"record", "signature", "key"});
    return KeyRecord{oracle::Signature::from_hex(text_of(member_of(object, "signature"), "signature")),
                     oracle::parse_operator_key(member_of(object, "key").dump())};
  }
  if (kind != "plan" && kind != "collectives") refuse("record", "unknown kind '" + kind + "'");
  allow_only(object, {"record", "name", "json"});
  Document document{text_of(member_of(object, "name"), "name"),
                    oracle::canonical_form(member_of(object, "json").dump(), "json")};
  if (kind == "plan") return PlanRecord{std::move(document)};
  return CommRecord{std::move(document)};
}

// --- canonical samples, fast

/// Takes a canonical line apart; every method is false for anything out of the ordinary, which the JSON parser then
/// judges.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool take(char c) { return at_ != end_ && *at_ == c ? (++at_, true) : false; }
  bool at_end() const { return at_ == end_; }

  /// Plain ASCII without escapes.
  bool text(std::string_view& value) {
    if (!take('"')) return false;
    const char* const from = at_;
    while (at_ != end_ && *at_ != '"') {
      if (*at_ < 0x20 || *at_ == '\\') return false;  // negative: not ASCII
      ++at_;
    }
    value = {from, static_cast<std::size_t>(at_ - from)};
    return take('"');
  }
  bool number(double& value) {
    if (at_ == end_ || !(*at_ == '-' ? at_ + 1 != end_ && is_digit(at_[1]) : is_digit(*at_))) return false;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || has_leading_zero() || has_bare_point(stop)) return false;
    return at_ = stop, true;
  }
  bool whole(std::uint64_t& value) {
    if (at_ == end_ || !is_digit(*at_)) return false;
    const auto [stop, error] = std::from_chars(at_, end_, value);
    if (error != std::errc() || value > std::uint64_t{1} << 53 || has_leading_zero()) return false;
    if (stop != end_ && (*stop == '.' || *stop == 'e')) return false;
    return at_ = stop, true;
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  bool has_leading_zero() const {
    const char* const first = *at_ == '-' ? at_ + 1 : at_;
    return *first == '0' && first + 1 < end_ && is_digit(first[1]);
  }
  /// JSON wants a digit behind a decimal point.
  bool has_bare_point(const char* stop) const {
    const char* const point = std::find(at_, stop, '.');
    return point != stop && (point + 1 == stop || !is_digit(point[1]));
  }
  const char* at_;
  const char* end_;
};

bool take_point(Cursor& cursor, oracle::SamplePoint& point) {
  point = {};
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return true;
  for (std::uint64_t& word : point) {
    if (!cursor.whole(word)) return false;
    if (cursor.take(']')) return true;
    if (!cursor.take(',')) return false;
  }
  return false;
}

bool take_kernels(Cursor& cursor, std::vector<std::string>& kernels) {
  if (!cursor.take('[')) return false;
  for (;;) {
    std::string_view text;
    if (!cursor.text(text)) return false;
    kernels.emplace_back(text);
    if (cursor.take(']')) return true;
    if (!cursor.take(',')) return false;
  }
}

bool hex_to(std::string_view hex, oracle::Signature& signature) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() != 64) return false;
  for (std::size_t i = 0; i < 32; ++i) {
    const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    signature.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return true;
}

/// Bits of the members that were seen; those of the figures follow.
enum Member : std::uint8_t {
  kPoint,
  kEnvironment,
  kSignature,
  kRegime,
  kRecord,
  kCount,
  kKernels,
  kFamily,
  kNote,
  kStatus,
  kFigure
};
constexpr unsigned kNeeded = 1u << kPoint | 1u << kEnvironment | 1u << kSignature | 1u << kRegime | 1u << kRecord;
static_assert(kFigure + std::size(kFigures) <= 32);

/// The member's value; sets the member's bit in `seen`.
bool take_member(Cursor& cursor, std::string_view name, SampleRecord& record, unsigned& seen) {
  oracle::Sample& sample = record.sample;
  std::string_view text;
  const auto first_time = [&](unsigned bit) {
    const bool is_new = (seen >> bit & 1) == 0;
    seen |= 1u << bit;
    return is_new;
  };
  for (unsigned i = 0; i < std::size(kFigures); ++i)
    if (kFigures[i].name == name) return first_time(kFigure + i) && cursor.number(sample.*kFigures[i].member);
  if (name == "point") return first_time(kPoint) && take_point(cursor, sample.point);
  if (name == "count") {
    std::uint64_t count = 0;
    if (!first_time(kCount) || !cursor.whole(count) || count > std::numeric_limits<std::uint32_t>::max()) return false;
    sample.count = static_cast<std::uint32_t>(count);
    return true;
  }
  if (name == "kernels") return first_time(kKernels) && take_kernels(cursor, sample.kernels);
  if (!cursor.text(text)) return false;
  if (name == "environment") return record.environment_id.assign(text), first_time(kEnvironment);
  if (name == "signature") return first_time(kSignature) && hex_to(text, record.signature);
  if (name == "kernel_family") return sample.kernel_family.assign(text), first_time(kFamily);
  if (name == "note") return sample.note.assign(text), first_time(kNote);
  if (name == "record") return text == "sample" && first_time(kRecord);
  if (name == "regime") {
    const auto regime = regime_named(text);
    if (regime) sample.regime = *regime;
    return regime && first_time(kRegime);
  }
  if (name != "status") return false;
  const auto status = status_named(text);
  if (status) sample.status = *status;
  return status && first_time(kStatus);
}

void clear(SampleRecord& record) {
  oracle::Sample& sample = record.sample;
  sample.point = {};
  sample.status = oracle::SampleStatus::kOk;
  sample.count = 0;
  for (const Figure& figure : kFigures) sample.*figure.member = 0;
  sample.kernel_family.clear();
  sample.kernels.clear();
  sample.note.clear();
}

}  // namespace

bool parse_canonical_sample(std::string_view line, SampleRecord& record) {
  Cursor cursor(line);
  unsigned seen = 0;
  if (!cursor.take('{')) return false;
  for (;;) {
    std::string_view name;
    if (!cursor.text(name) || !cursor.take(':') || !take_member(cursor, name, record, seen)) return false;
    if (cursor.take('}')) break;
    if (!cursor.take(',')) return false;
  }
  return cursor.at_end() && (seen & kNeeded) == kNeeded;
}

void append_portable_line(std::string& out, const Record& record) { std::visit(AppendLine{out}, record); }

std::string portable_line(const Record& record) {
  std::string out;
  append_portable_line(out, record);
  return out;
}

void parse_portable_line(std::string_view line, Record& record) {
  if (line.find("\"record\":\"sample\"") != std::string_view::npos) {
    auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) sample = &record.emplace<SampleRecord>();
    clear(*sample);
    if (parse_canonical_sample(line, *sample)) return;
  }
  try {
    record = parse_object(json::parse(oracle::canonical_form(line, "line")));
  } catch (const StoreError&) {
    throw;
  } catch (const oracle::OracleError& error) {
    throw StoreError(error.what());
  }
}

Record parse_portable_line(std::string_view line) {
  Record record;
  parse_portable_line(line, record);
  return record;
}

}  // namespace dooly::store
