#include "results/number_text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

namespace dooly::results {
namespace {

__extension__ using Wide = unsigned __int128;

/// value = digits x 10^exponent
struct Decimal {
  std::uint64_t digits;
  int exponent;
};

/// 10^n = g x 2^(floor(log2 10^n) - 127), g rounded up to 128 bits.
constexpr int kLargestPower = 38;  // the last that a 128-bit integer holds

constexpr Wide power_of_ten(int n) {
  Wide power = 1;
  for (; n > 0; --n) power *= 10;
  return power;
}

constexpr int bit_width(Wide value) {
  int width = 0;
  for (; value != 0; value >>= 1) ++width;
  return width;
}

constexpr Wide scaled_power(int n) {
  if (n >= 0) {
    const Wide exact = power_of_ten(n);
    return exact << (128 - bit_width(exact));
  }
  const Wide divisor = power_of_ten(-n);  // long division of a power of two, until the quotient has 128 bits
  Wide quotient = 0;
  Wide rest = 1;
  while ((quotient >> 127) == 0) {
    rest <<= 1;
    quotient <<= 1;
    if (rest >= divisor) rest -= divisor, quotient |= 1;
  }
  return quotient + (rest != 0 ? 1 : 0);
}

constexpr auto kPowers = [] {
  std::array<Wide, 2 * kLargestPower + 1> powers{};
  for (int n = -kLargestPower; n <= kLargestPower; ++n)
    powers[static_cast<std::size_t>(n + kLargestPower)] = scaled_power(n);
  return powers;
}();

/// Upper 64 bits of the 192-bit product, lowest bit set if anything but the next bit is lost ("round to odd").
inline std::uint64_t round_to_odd(Wide g, std::uint64_t c) {
  const Wide low = static_cast<Wide>(static_cast<std::uint64_t>(g)) * c;
  const Wide sum = static_cast<Wide>(static_cast<std::uint64_t>(g >> 64)) * c + static_cast<std::uint64_t>(low >> 64);
  return static_cast<std::uint64_t>(sum >> 64) | (static_cast<std::uint64_t>(sum) > 1 ? 1 : 0);
}

Decimal reread(double value) {  // very large and very small numbers: rare, so the library may do them
  char text[kNumberRoom];
  const char* const end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  Decimal decimal{0, 0};
  const char* at = text;
  bool fraction = false;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '.') {
      fraction = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<std::uint64_t>(*at - '0');
    decimal.exponent -= fraction ? 1 : 0;
  }
  int exponent = 0;
  if (at != end && *++at == '+') ++at;
  std::from_chars(at, end, exponent);
  decimal.exponent += exponent;
  return decimal;
}

/// The shortest decimal in the rounding interval of a positive finite number, of those the closest.
/// R. Giulietti, "The Schubfach way to render doubles", 2020, figures 4 to 7.
Decimal shortest(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  const int biased = static_cast<int>(bits >> 52);
  if (biased == 0) return reread(value);
  const std::uint64_t c = fraction | std::uint64_t{1} << 52;
  const int q = biased - 1075;
  const bool irregular = fraction == 0;  // the neighbour below is closer
  const int k = (q * 1262611 - (irregular ? 524031 : 0)) >> 22;  // floor(log10(2^q)), floor(log10(3/4 2^q))
  if (k < -kLargestPower || k > kLargestPower) return reread(value);
  const int h = q + ((-k * 1741647) >> 19) + 1;  // q + floor(log2(10^-k)) + 1
  const Wide g = kPowers[static_cast<std::size_t>(-k + kLargestPower)];
  const std::uint64_t odd = c & 1;
  const std::uint64_t lower = round_to_odd(g, (4 * c - (irregular ? 1 : 2)) << h) + odd;
  const std::uint64_t middle = round_to_odd(g, 4 * c << h);
  const std::uint64_t upper = round_to_odd(g, (4 * c + 2) << h) - odd;
  const std::uint64_t s = middle / 4;
  if (s >= 10) {  // one digit fewer, if exactly one of the two candidates lies inside
    const std::uint64_t tens = s / 10;
    const bool below = lower <= 40 * tens;
    const bool above = 40 * tens + 40 <= upper;
    if (below != above) return {tens + (above ? 1 : 0), k + 1};
  }
  const bool below = lower <= 4 * s;
  const bool above = 4 * s + 4 <= upper;
  if (below != above) return {s + (above ? 1 : 0), k};
  const bool up = middle > 4 * s + 2 || (middle == 4 * s + 2 && (s & 1) != 0);
  return {s + (up ? 1 : 0), k};
}

constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

inline void write_pair(char* out, std::uint32_t value) { std::memcpy(out, kPairs.data() + std::size_t{2} * value, 2); }

inline void write_eight(char* out, std::uint32_t value) {
  const std::uint32_t high = value / 10000;
  const std::uint32_t low = value % 10000;
  write_pair(out, high / 100), write_pair(out + 2, high % 100);
  write_pair(out + 4, low / 100), write_pair(out + 6, low % 100);
}

/// Digits of a number below 10^24 without leading zeros; returns how many.
inline int write_digits(char* out, std::uint64_t value) {
  char text[48];
  write_eight(text + 16, static_cast<std::uint32_t>(value % 100000000));
  const std::uint64_t rest = value / 100000000;
  write_eight(text + 8, static_cast<std::uint32_t>(rest % 100000000));
  write_eight(text, static_cast<std::uint32_t>(rest / 100000000));
  int first = rest == 0 ? 16 : 6;  // 17 digits at most reach text[7]
  while (first < 23 && text[first] == '0') ++first;
  std::memcpy(out, text + first, 24);  // the caller has room; a fixed size is a few moves
  return 24 - first;
}

}  // namespace

char* write_number(char* out, std::uint64_t value) { return std::to_chars(out, out + kNumberRoom, value).ptr; }

char* write_number(char* out, double value) {
  if (!std::isfinite(value)) return out;
  if (std::signbit(value) && value != 0) *out++ = '-', value = -value;
  if (value < 9007199254740992.0) {
    const auto whole = static_cast<std::uint64_t>(value);
    if (static_cast<double>(whole) == value) return write_number(out, whole);
  }
  const Decimal decimal = shortest(value);
  char digits[48];
  int count = write_digits(digits, decimal.digits);
  int point = count + decimal.exponent;  // value = 0.digits x 10^point
  while (digits[count - 1] == '0') --count;
  if (point > 0 && point <= 16) {
    if (point >= count) {
      std::memcpy(out, digits, static_cast<std::size_t>(count));
      std::memset(out + count, '0', static_cast<std::size_t>(point - count));
      return out + point;
    }
    std::memcpy(out, digits, 24);
    std::memmove(out + point + 1, digits + point, 24);
    out[point] = '.';
    return out + count + 1;
  }
  if (point <= 0 && point > -5) {
    std::memcpy(out, "0.00000", 7);
    std::memcpy(out + 2 - point, digits, 24);
    return out + 2 - point + count;
  }
  *out++ = digits[0];
  if (count > 1) {
    *out++ = '.';
    std::memcpy(out, digits + 1, 24);
    out += count - 1;
  }
  *out++ = 'e';
  int exponent = point - 1;
  *out++ = exponent < 0 ? '-' : '+';
  if (exponent < 0) exponent = -exponent;
  if (exponent < 10) *out++ = '0';
  return std::to_chars(out, out + 4, exponent).ptr;
}

std::string number_text(double value) {
  char text[kNumberRoom];
  return std::string(text, write_number(text, value));
}

}  // namespace dooly::results
