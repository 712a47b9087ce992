#include "results/number_text.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
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

constexpr std::size_t place_of(int n) {
  const int place = n + kLargestPower;
  return static_cast<std::size_t>(place);
}

constexpr auto kPowers = [] {
  std::array<Wide, 2 * kLargestPower + 1> powers{};
  for (int n = -kLargestPower; n <= kLargestPower; ++n) powers[place_of(n)] = scaled_power(n);
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
  const Wide g = kPowers[place_of(-k)];
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

/// The eight decimal digits of `value` < 10^8 as bytes 0 to 9, the first digit in the lowest byte: halves, quarters and
/// digits are split side by side, with multiplications in place of divisions.
inline std::uint64_t eight_digits(std::uint32_t value) {
  const std::uint64_t halves = value / 10000 | std::uint64_t{value % 10000} << 32;
  const std::uint64_t hundreds = (halves * 10486 >> 20) & 0x0000007F0000007F;
  const std::uint64_t quarters = hundreds | (halves - 100 * hundreds) << 16;
  const std::uint64_t tens = (quarters * 103 >> 10) & 0x000F000F000F000F;
  return tens | (quarters - 10 * tens) << 8;
}

static_assert(std::endian::native == std::endian::little);
constexpr std::uint64_t kZeroCharacters = 0x3030303030303030;

/// The digits of a decimal as characters, without zeros at either end.
struct Digits {
  char text[48];  ///< with room for copies of a fixed size
  int first;
  int count;  ///< without zeros at the end
  int with_zeros;  ///< and with them
};

/// `value` is not 0 and has at most 17 digits.
inline void split(std::uint64_t value, Digits& digits) {
  const std::uint64_t upper = value / 100000000;
  const std::uint64_t top = upper / 100000000;
  const std::uint64_t middle = eight_digits(static_cast<std::uint32_t>(upper % 100000000));
  const std::uint64_t low = eight_digits(static_cast<std::uint32_t>(value % 100000000));
  digits.text[7] = static_cast<char>('0' + top);
  const std::uint64_t characters[2] = {middle | kZeroCharacters, low | kZeroCharacters};
  std::memcpy(digits.text + 8, characters, 16);
  if (top != 0)
    digits.first = 7;
  else if (middle != 0)
    digits.first = 8 + std::countr_zero(middle) / 8;
  else
    digits.first = 16 + std::countr_zero(low) / 8;
  int end = 8;
  if (low != 0)
    end = 24 - std::countl_zero(low) / 8;
  else if (middle != 0)
    end = 16 - std::countl_zero(middle) / 8;
  digits.with_zeros = 24 - digits.first;
  digits.count = end - digits.first;
}

/// Writes 0.digits x 10^point.
inline char* lay_out(char* out, const Digits& digits, int point) {
  const char* const first = digits.text + digits.first;
  const int count = digits.count;
  if (point > 0 && point <= 16) {  // 123.45 or 12300
    std::memcpy(out, first, 17);
    if (point >= count) {
      std::memset(out + count, '0', static_cast<std::size_t>(point - count));
      return out + point;
    }
    out[point] = '.';
    std::memcpy(out + point + 1, first + point, 17);
    return out + count + 1;
  }
  if (point <= 0 && point > -5) {  // 0.00123
    std::memcpy(out, "0.000000", 8);
    std::memcpy(out + 2 - point, first, 17);
    return out + 2 - point + count;
  }
  *out++ = *first;
  if (count > 1) {
    *out++ = '.';
    std::memcpy(out, first + 1, 17);
    out += count - 1;
  }
  *out++ = 'e';
  const int exponent = point - 1;
  *out++ = exponent < 0 ? '-' : '+';
  if (std::abs(exponent) < 10) *out++ = '0';
  return std::to_chars(out, out + 4, std::abs(exponent)).ptr;
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
  Digits digits;
  split(decimal.digits, digits);
  return lay_out(out, digits, digits.with_zeros + decimal.exponent);
}

std::string number_text(double value) {
  char text[kNumberRoom];
  return std::string(text, write_number(text, value));
}

}  // namespace dooly::results
