// Samples of portable files as we write them, without a JSON parser.
#include "portable_line.hpp"
#include "sample_figures.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

namespace dooly::store {
namespace {

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
  clear(record);
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

}  // namespace dooly::store
