#include "oracle/operator_key.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/sha256.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <set>

namespace dooly::oracle {
namespace {

using test::message_of;
using Random = std::mt19937_64;

OperatorKey attention() {
  OperatorKey key;
  key.kind = "attention";
  key.dtypes = {"bfloat16", "fp8", "bfloat16"};
  key.dims = {32, 8, 128};
  key.request_dims = {"batch"};
  key.attributes = {{"window", std::int64_t{4096}},
                    {"soft_cap", 30.0},
                    {"scale", 0.0625},
                    {"sinks", true},
                    {"layout", std::string("NHD")}};
  key.family = "fa3";
  return key;
}

std::string number(double value) {
  std::string out;
  append_json(out, value);
  return out;
}

TEST(CanonicalJson, NumbersAreSpeltAsInRfc8785) {  // appendix B of the RFC
  EXPECT_EQ(number(0.0), "0");
  EXPECT_EQ(number(-0.0), "0");
  EXPECT_EQ(number(5e-324), "5e-324");
  EXPECT_EQ(number(-5e-324), "-5e-324");
  EXPECT_EQ(number(1.7976931348623157e308), "1.7976931348623157e+308");
  EXPECT_EQ(number(9007199254740992), "9007199254740992");
  EXPECT_EQ(number(295147905179352830000.0), "295147905179352830000");
  EXPECT_EQ(number(9.999999999999997e22), "9.999999999999997e+22");
  EXPECT_EQ(number(1e23), "1e+23");
  EXPECT_EQ(number(1e21), "1e+21");
  EXPECT_EQ(number(999999999999999700000.0), "999999999999999700000");
  EXPECT_EQ(number(9.999999999999997e-7), "9.999999999999997e-7");
  EXPECT_EQ(number(0.000001), "0.000001");
  EXPECT_EQ(number(333333333.33333325), "333333333.33333325");
  EXPECT_EQ(number(-0.0000033333333333333333), "-0.0000033333333333333333");
  EXPECT_EQ(number(1424953923781206.25), "1424953923781206.2");
  EXPECT_THROW(number(std::nan("")), OracleError);
  EXPECT_THROW(number(std::numeric_limits<double>::infinity()), OracleError);
}

TEST(CanonicalJson, IntegersThatNoDoubleHoldsAreRefused) {
  std::string out;
  append_json(out, std::uint64_t{1} << 60);  // 2^60 is a double; its shortest digits end in zeros
  EXPECT_EQ(out, "1152921504606847000");
  EXPECT_THROW(append_json(out, (std::uint64_t{1} << 53) + 1), OracleError);
  EXPECT_THROW(append_json(out, std::numeric_limits<std::uint64_t>::max()), OracleError);
  EXPECT_THROW(append_json(out, std::numeric_limits<std::int64_t>::min() + 1), OracleError);
}

TEST(CanonicalJson, TextIsEscapedAsLittleAsPossible) {
  std::string out;
  append_json(out, std::string_view("\u20ac$\x0f\nA'B\"\\\\\"/"));  // section 3.2.2.2 of the RFC
  EXPECT_EQ(out, "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"");
  for (const char* bad : {"\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xff"})
    EXPECT_THROW(append_json(out, std::string_view(bad)), OracleError) << bad;
}

TEST(CanonicalJson, NamesSortByUtf16) {  // section 3.2.3 of the RFC
  const std::vector<std::string> sorted = {"\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"};
  for (std::size_t i = 0; i < sorted.size(); ++i)
    for (std::size_t j = 0; j < sorted.size(); ++j) EXPECT_EQ(json_name_less(sorted[i], sorted[j]), i < j) << i << j;
  EXPECT_TRUE(json_name_less("a", "ab"));
  EXPECT_FALSE(json_name_less("ab", "a"));
}

TEST(CanonicalJson, AnyTextHasACanonicalForm) {
  EXPECT_EQ(canonical_form(" {\"b\" : [1.0, true,null, {}], \"a\":{\"y\":\"\\u0041\",\"x\":1e2}} ", "text"),
            R"({"a":{"x":100,"y":"A"},"b":[1,true,null,{}]})");
  EXPECT_THROW(canonical_form("[1,]", "text"), OracleError);
  EXPECT_THROW(canonical_form(std::string(100'000, '[') + std::string(100'000, ']'), "text"), OracleError);
}

TEST(OperatorKey, CanonicalFormIsFixedForEver) {  // a change here orphans every store
  EXPECT_EQ(canonical_json(attention()),
            R"({"attributes":{"layout":"NHD","scale":0.0625,"sinks":true,"soft_cap":30,"window":4096},)"
            R"("dims":[32,8,128],"dtypes":["bfloat16","fp8","bfloat16"],"family":"fa3","kind":"attention",)"
            R"("request_dims":["batch"]})");
  EXPECT_EQ(signature_of(attention()).hex(), sha256_hex(canonical_json(attention())));
  EXPECT_EQ(Signature::from_hex(signature_of(attention()).hex()), signature_of(attention()));
  EXPECT_THROW(Signature::from_hex("12"), OracleError);
  EXPECT_THROW(Signature::from_hex(std::string(64, 'g')), OracleError);
}

/// Keys of every shape, with awkward numbers and names.
OperatorKey random_key(Random& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  const auto word = [&] {
    const char* const letters[] = {"a", "b", "z", "_", "\"", "\\", "\n", "\u00e9", "\u20ac", "\ufb33", "\U0001f600"};
    std::string text;
    for (std::uint64_t i = below(6); i-- > 0;) text += letters[below(std::size(letters))];
    return text;
  };
  OperatorKey key;
  key.kind = word();
  key.family = word();
  for (std::uint64_t i = below(4); i-- > 0;) key.dtypes.push_back(word());
  for (std::uint64_t i = below(5); i-- > 0;) key.dims.push_back(random() >> (11 + below(53)));
  for (std::uint64_t i = below(3); i-- > 0;) key.request_dims.push_back(word());
  for (std::uint64_t i = below(6); i-- > 0;) {
    OperatorKey::Value value;
    switch (below(4)) {
      case 0: value = below(2) == 0; break;
      case 1: value = static_cast<std::int64_t>(random() >> (11 + below(53))) * (below(2) == 0 ? 1 : -1); break;
      case 2: value = std::ldexp(static_cast<double>(random() >> 11), static_cast<int>(below(200)) - 150); break;
      default: value = word();
    }
    key.attributes.insert_or_assign(word(), value);
  }
  return key;
}

std::string spelt_text(std::string_view text, Random& random) {
  std::string out = "\"";
  for (const char byte : text) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x20 || byte == '"' || byte == '\\' || (code < 0x80 && random() % 4 == 0)) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, random() % 2 == 0 ? "\\u%04x" : "\\u%04X", code);
      out += escaped;
    } else {
      out += byte;
    }
  }
  return out + '"';
}

/// 12 as 12, 12.0, 120e-1, 0.12e2, ...
std::string spelt_number(const std::string& canonical, Random& random) {
  if (canonical == "0") return random() % 2 == 0 ? "0" : "-0.0";
  const std::size_t mark = canonical.find('e');
  const std::string digits = canonical.substr(0, mark);
  const int exponent = mark == std::string::npos ? 0 : std::stoi(canonical.substr(mark + 1));
  const bool has_point = digits.find('.') != std::string::npos;
  switch (random() % 4) {
    case 0: return canonical;
    case 1: return digits + (has_point ? "000" : ".0") + (random() % 2 == 0 ? "e" : "E") + std::to_string(exponent);
    case 2: return has_point ? canonical : digits + "00e" + std::to_string(exponent - 2);
    default: return exponent != 0 ? canonical : digits + "e+00";
  }
}

std::string spelt_value(const OperatorKey::Value& value, Random& random) {
  std::string canonical;
  if (const auto* text = std::get_if<std::string>(&value)) return spelt_text(*text, random);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) append_json(canonical, *whole);
  if (const auto* real = std::get_if<double>(&value)) append_json(canonical, *real);
  return spelt_number(canonical, random);
}

std::string joined(std::vector<std::string> parts, char open, char close, bool shuffled, Random& random) {
  if (shuffled) std::shuffle(parts.begin(), parts.end(), random);
  const auto blank = [&] { return std::string(random() % 3 == 0 ? " \n\t\r" : ""); };
  std::string out(1, open);
  for (std::size_t i = 0; i < parts.size(); ++i) out += (i > 0 ? "," : "") + blank() + parts[i] + blank();
  return out + close;
}

/// The same key in some other JSON: members in any order, white space, escapes, other spellings of numbers.
std::string other_spelling(const OperatorKey& key, Random& random) {
  const auto texts = [&](const std::vector<std::string>& list) {
    std::vector<std::string> parts;
    for (const std::string& text : list) parts.push_back(spelt_text(text, random));
    return joined(parts, '[', ']', false, random);
  };
  std::vector<std::string> dims, attributes;
  for (const std::uint64_t dim : key.dims) {
    std::string canonical;
    append_json(canonical, dim);
    dims.push_back(spelt_number(canonical, random));
  }
  for (const auto& [name, value] : key.attributes)
    attributes.push_back(spelt_text(name, random) + ":" + spelt_value(value, random));
  return joined({"\"kind\":" + spelt_text(key.kind, random), "\"family\" : " + spelt_text(key.family, random),
                 "\"dtypes\":" + texts(key.dtypes), "\"request_dims\":" + texts(key.request_dims),
                 "\"dims\":" + joined(dims, '[', ']', false, random),
                 "\"attributes\":" + joined(attributes, '{', '}', true, random)},
                '{', '}', true, random);
}

TEST(OperatorKey, SpellingDoesNotMatter) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const OperatorKey key = random_key(random);
    const std::string canonical = canonical_json(key);
    const std::string spelling = other_spelling(key, random);
    ASSERT_EQ(canonical_json(parse_operator_key(spelling)), canonical) << spelling;
    ASSERT_EQ(canonical_json(parse_operator_key(canonical)), canonical);
  }
}

TEST(OperatorKey, NumbersOfOneValueAreOneAttribute) {
  std::set<std::string> signatures;
  for (const char* spelling : {"1", "1.0", "1e0", "10e-1", "0.1e1", "1.000"})
    signatures.insert(
        signature_of(parse_operator_key(std::string(R"({"kind":"x","attributes":{"a":)") + spelling + "}}")).hex());
  OperatorKey key;
  key.kind = "x";
  key.attributes["a"] = std::int64_t{1};
  signatures.insert(signature_of(key).hex());
  key.attributes["a"] = 1.0;
  signatures.insert(signature_of(key).hex());
  EXPECT_EQ(signatures.size(), 1u);
  key.attributes["a"] = true;  // no number
  EXPECT_FALSE(signatures.contains(signature_of(key).hex()));
  key.attributes["a"] = std::string("1");
  EXPECT_FALSE(signatures.contains(signature_of(key).hex()));
}

TEST(OperatorKey, LocaleDoesNotMatter) {
  const test::Scratch scratch;
  const std::string make = "localedef -i de_DE -f UTF-8 '" + (scratch / "de_DE.UTF-8").string() + "' > '" +
                           (scratch / "log").string() + "' 2>&1";
  const bool made = std::system(make.c_str()) == 0;
  if (made) ::setenv("LOCPATH", scratch.path().c_str(), 1);
  const std::string before = canonical_json(attention());
  const bool set = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr;
  const std::string comma = std::localeconv()->decimal_point;
  const std::string during = canonical_json(attention());
  const std::string parsed = canonical_json(parse_operator_key(before));
  std::setlocale(LC_ALL, "C");
  ::unsetenv("LOCPATH");
  if (!set) GTEST_SKIP() << "no locale de_DE.UTF-8 here, and localedef cannot make one";
  EXPECT_EQ(comma, ",");
  EXPECT_EQ(during, before);
  EXPECT_EQ(parsed, before);
}

TEST(OperatorKey, EverySemanticFieldMatters) {
  const std::vector<std::function<void(OperatorKey&)>> changes = {
      [](OperatorKey& key) { key.kind = "mla_attention"; },
      [](OperatorKey& key) { key.family = "fa2"; },
      [](OperatorKey& key) { key.family = ""; },
      [](OperatorKey& key) { key.dtypes[1] = "bfloat16"; },
      [](OperatorKey& key) { std::swap(key.dtypes[0], key.dtypes[1]); },
      [](OperatorKey& key) { key.dtypes.pop_back(); },
      [](OperatorKey& key) { key.dims[0] = 33; },
      [](OperatorKey& key) { std::swap(key.dims[0], key.dims[1]); },
      [](OperatorKey& key) { key.dims.push_back(1); },
      [](OperatorKey& key) { key.request_dims = {"m"}; },
      [](OperatorKey& key) { key.request_dims.clear(); },
      [](OperatorKey& key) { key.attributes["window"] = std::int64_t{4097}; },
      [](OperatorKey& key) { key.attributes.erase("window"); },
      [](OperatorKey& key) { key.attributes["scale"] = std::nextafter(0.0625, 1.0); },
      [](OperatorKey& key) { key.attributes["sinks"] = false; },
      [](OperatorKey& key) { key.attributes["layout"] = std::string("HND"); },
      [](OperatorKey& key) { key.attributes["block_size"] = std::int64_t{32}; },
      [](OperatorKey& key) {
        key.attributes.erase("layout");
        key.attributes["Layout"] = std::string("NHD");
      },
  };
  std::set<std::string> signatures = {signature_of(attention()).hex()};
  for (const auto& change : changes) {
    OperatorKey key = attention();
    change(key);
    signatures.insert(signature_of(key).hex());
  }
  EXPECT_EQ(signatures.size(), changes.size() + 1);
}

TEST(OperatorKey, DifferentKeysHaveDifferentForms) {
  Random random(2);
  const auto same = [](const OperatorKey& left, const OperatorKey& right) {
    return parse_operator_key(canonical_json(left)) == parse_operator_key(canonical_json(right));
  };
  std::map<std::string, OperatorKey> seen;
  for (int i = 0; i < 3000; ++i) {
    const OperatorKey key = random_key(random);
    const auto [at, is_new] = seen.emplace(canonical_json(key), key);
    if (is_new) continue;
    EXPECT_TRUE(same(at->second, key));
  }
}

TEST(OperatorKey, WhatIsNoKeyIsNamed) {
  const auto complaint = [](const char* json) { return message_of<OracleError>([&] { parse_operator_key(json); }); };
  EXPECT_EQ(complaint("[]"), "operator key: must be a JSON object, got []");
  EXPECT_EQ(complaint("{}"), "operator key: kind: missing");
  EXPECT_EQ(complaint(R"({"kind":1})"), "operator key: kind: must be text, got 1");
  EXPECT_EQ(complaint(R"({"kind":"x","dims":[1,2.5]})"), "operator key: dims[1]: must be a whole number, got 2.5");
  EXPECT_EQ(complaint(R"({"kind":"x","dims":[-1]})"), "operator key: dims[0]: must be a whole number, got -1");
  EXPECT_EQ(complaint(R"({"kind":"x","attributes":{"a":[1]}})"),
            "operator key: attributes.a: must be a truth value, a number or text, got [1]");
  EXPECT_EQ(complaint(R"({"kind":"x","dim":[1]})"),
            "operator key: dim: unknown; allowed: attributes, dims, dtypes, family, kind, request_dims");
  EXPECT_EQ(complaint(R"({"kind":"x","kind":"y"})"), "operator key: kind: given twice");
  EXPECT_EQ(complaint(R"({"kind":"x","attributes":{"a":1,"a":1}})"), "operator key: a: given twice");
  EXPECT_NE(complaint("{\"kind\":\"\xff\"}").find("no JSON"), std::string::npos);
  EXPECT_NE(complaint(R"({"kind":"x"} x)").find("no JSON"), std::string::npos);
  EXPECT_NE(complaint(R"({"kind":"x","attributes":{"a":1e999}})").find("no JSON"), std::string::npos);
}

}  // namespace
}  // namespace dooly::oracle
