#include "record_codec.hpp"

#include "xxh64.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace dooly::store {
namespace {

/// The figures of a sample in the order of their bits: only those that are not 0 are written.
constexpr std::array<double oracle::Sample::*, 10> kFigures = {
    &oracle::Sample::median_s,      &oracle::Sample::mean_s,   &oracle::Sample::std_s,        &oracle::Sample::min_s,
    &oracle::Sample::p10_s,         &oracle::Sample::p90_s,    &oracle::Sample::sm_clock_mhz, &oracle::Sample::power_w,
    &oracle::Sample::temperature_c, &oracle::Sample::processes};

void append_fixed(std::string& out, std::uint64_t word, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(word >> (8 * i));
}

void append_text(std::string& out, std::string_view text) {
  append_fixed(out, text.size(), 4);
  out += text;
}

/// Takes pieces off the front; false once there is too little.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool fixed(std::uint64_t& word, std::size_t bytes) {
    if (bytes_.size() < bytes) return false;
    word = 0;
    std::memcpy(&word, bytes_.data(), bytes);
    bytes_.remove_prefix(bytes);
    return true;
  }
  bool text(std::string& out) {
    std::uint64_t size = 0;
    if (!fixed(size, 4) || bytes_.size() < size) return false;
    out.assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool at_end() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::uint64_t checksum(std::string_view family, std::string_view key, std::string_view payload) {
  return xxh64(payload, xxh64(key, xxh64(family)));
}

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

}  // namespace

std::string hex_of(std::string_view bytes) {
  std::string text(2 * bytes.size(), '0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text[2 * i] = "0123456789abcdef"[byte >> 4];
    text[2 * i + 1] = "0123456789abcdef"[byte & 15];
  }
  return text;
}

bool is_id(std::string_view hex) {
  return hex.size() == 64 && std::all_of(hex.begin(), hex.end(), [](char c) { return digit(c) >= 0; });
}

std::string series_prefix(std::string_view environment_id, const oracle::Signature& signature) {
  std::string key;
  key.reserve(kSampleKeySize);
  for (std::size_t i = 0; i < 64; i += 2)
    key += static_cast<char>(digit(environment_id[i]) << 4 | digit(environment_id[i + 1]));
  key.append(reinterpret_cast<const char*>(signature.bytes.data()), signature.bytes.size());
  return key;
}

void append_point(std::string& key, oracle::ClockRegime regime, const oracle::SamplePoint& point) {
  key += static_cast<char>(regime);
  for (const std::uint64_t word : point)
    for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(word >> shift);
}

bool decode_sample_key(std::string_view key, std::string& environment_id, oracle::Signature& signature,
                       oracle::Sample& sample) {
  if (key.size() != kSampleKeySize) return false;
  environment_id = hex_of(key.substr(0, 32));
  std::memcpy(signature.bytes.data(), key.data() + 32, 32);
  sample.regime = static_cast<oracle::ClockRegime>(key[64]);
  if (sample.regime > oracle::ClockRegime::kUnknown) return false;
  for (std::size_t i = 0; i < sample.point.size(); ++i) {
    std::uint64_t word = 0;
    for (std::size_t j = 0; j < 8; ++j) word = word << 8 | static_cast<unsigned char>(key[65 + 8 * i + j]);
    sample.point[i] = word;
  }
  return true;
}

void seal_value(std::string& value, std::string_view family, std::string_view key, std::string_view payload) {
  value.clear();
  append_fixed(value, checksum(family, key, payload), 8);
  value += payload;
}

bool open_value(std::string_view value, std::string_view family, std::string_view key, std::string_view& payload) {
  std::uint64_t written = 0;
  if (!Reader(value).fixed(written, 8)) return false;
  payload = value.substr(8);
  return written == checksum(family, key, payload);
}

void encode_sample(std::string& payload, const oracle::Sample& sample) {
  payload.clear();
  unsigned present = 0;
  for (std::size_t i = 0; i < kFigures.size(); ++i)
    if (sample.*kFigures[i] != 0) present |= 1u << i;
  append_fixed(payload, static_cast<std::uint64_t>(sample.status), 1);
  append_fixed(payload, sample.count, 4);
  append_fixed(payload, present, 2);
  for (std::size_t i = 0; i < kFigures.size(); ++i)
    if (present >> i & 1) append_fixed(payload, std::bit_cast<std::uint64_t>(sample.*kFigures[i]), 8);
  if (sample.kernel_family.empty() && sample.note.empty() && sample.kernels.empty()) return;
  append_text(payload, sample.kernel_family);
  append_text(payload, sample.note);
  for (const std::string& kernel : sample.kernels) append_text(payload, kernel);
}

bool decode_sample(std::string_view payload, oracle::Sample& sample) {
  Reader reader(payload);
  std::uint64_t status = 0, count = 0, present = 0;
  if (!reader.fixed(status, 1) || !reader.fixed(count, 4) || !reader.fixed(present, 2)) return false;
  if (status > static_cast<std::uint64_t>(oracle::SampleStatus::kSuspect) || present >> kFigures.size() != 0)
    return false;
  sample.status = static_cast<oracle::SampleStatus>(status);
  sample.count = static_cast<std::uint32_t>(count);
  for (std::size_t i = 0; i < kFigures.size(); ++i) {
    std::uint64_t bits = 0;
    if ((present >> i & 1) != 0 && !reader.fixed(bits, 8)) return false;
    sample.*kFigures[i] = std::bit_cast<double>(bits);
  }
  sample.kernel_family.clear();
  sample.note.clear();
  sample.kernels.clear();
  if (reader.at_end()) return true;
  if (!reader.text(sample.kernel_family) || !reader.text(sample.note)) return false;
  while (!reader.at_end())
    if (!reader.text(sample.kernels.emplace_back())) return false;
  return true;
}

}  // namespace dooly::store
