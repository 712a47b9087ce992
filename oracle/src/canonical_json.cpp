#include "oracle/canonical_json.hpp"

#include "oracle/oracle_error.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace dooly::oracle {
namespace {

/// Bytes of the UTF-8 character at the front of `text` (RFC 3629), 0 if it is none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xbf) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool second = first == 0xe0 ? tail(1, 0xa0) : first == 0xed ? tail(1, 0x80, 0x9f) : tail(1);
    return second && tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool second = first == 0xf0 ? tail(1, 0x90) : first == 0xf4 ? tail(1, 0x80, 0x8f) : tail(1);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void append_escaped(std::string& out, unsigned char byte) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (byte) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  out += "\\u00";
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

/// Digits d1..dn and exponent e of a positive number, as ECMAScript lays them out: d1..dn x 10^(e - n + 1).
void append_digits(std::string& out, std::string_view digits, int exponent) {
  const std::size_t whole = exponent < 0 ? 0 : static_cast<std::size_t>(exponent) + 1;  // digits before the point
  if (exponent >= 21 || exponent < -6) {
    out += digits[0];
    if (digits.size() > 1) {
      out += '.';
      out += digits.substr(1);
    }
    out += exponent < 0 ? "e-" : "e+";
    out += std::to_string(std::abs(exponent));
  } else if (exponent < 0) {
    out += "0.";
    for (int zeros = -exponent - 1; zeros > 0; --zeros) out += '0';
    out += digits;
  } else if (whole >= digits.size()) {
    out += digits;
    out.append(whole - digits.size(), '0');
  } else {
    out += digits.substr(0, whole);
    out += '.';
    out += digits.substr(whole);
  }
}

/// Up to here every integer is a double, and written with all its digits.
constexpr std::uint64_t kExact = std::uint64_t{1} << 53;

void append_magnitude(std::string& out, std::uint64_t value) {
  if (value > kExact) {
    const double as_double = static_cast<double>(value);
    if (as_double >= 0x1p64 || static_cast<std::uint64_t>(as_double) != value)
      throw OracleError("no JSON number holds the integer " + std::to_string(value) + " exactly");
    return append_json(out, as_double);
  }
  char text[24];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

}  // namespace

void append_json(std::string& out, double value) {
  if (!std::isfinite(value)) throw OracleError("a number in JSON must be finite, got " + std::to_string(value));
  if (value == 0) {
    out += '0';
    return;
  }
  char text[32];  // d.ddde-ddd: the shortest digits that read back as the same number, nearest to it
  const char* const end = std::to_chars(text, text + sizeof text, std::abs(value), std::chars_format::scientific).ptr;
  const char* const mark = std::find(static_cast<const char*>(text), end, 'e');
  char digits[32];
  std::size_t count = 0;
  for (const char* at = text; at != mark; ++at)
    if (*at != '.') digits[count++] = *at;
  int exponent = 0;
  std::from_chars(mark + (mark[1] == '+' ? 2 : 1), end, exponent);
  if (value < 0) out += '-';
  append_digits(out, {digits, count}, exponent);
}

void append_json(std::string& out, std::uint64_t value) { append_magnitude(out, value); }

void append_json(std::string& out, std::int64_t value) {
  if (value < 0) out += '-';
  append_magnitude(out, value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value));
}

void append_json(std::string& out, bool value) { out += value ? "true" : "false"; }

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) {
      if (byte < 0x20 || byte == '"' || byte == '\\')
        append_escaped(out, byte);
      else
        out += text[at];
      ++at;
      continue;
    }
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) throw OracleError("text in JSON must be UTF-8: byte " + std::to_string(at) + " is not");
    out += text.substr(at, length);
    at += length;
  }
  out += '"';
}

bool json_name_less(std::string_view left, std::string_view right) {
  const auto [l, r] = std::mismatch(left.begin(), left.end(), right.begin(), right.end());
  if (l == left.end() || r == right.end()) return l == left.end() && r != right.end();
  // UTF-8 sorts as code points do; UTF-16 differs where surrogates (from U+10000 up: f0..f4) meet U+E000..U+FFFF.
  const auto rank = [](char byte) {
    const auto value = static_cast<unsigned char>(byte);
    return value == 0xee || value == 0xef ? 0x100 + value : static_cast<int>(value);
  };
  return rank(*l) < rank(*r);
}

}  // namespace dooly::oracle
