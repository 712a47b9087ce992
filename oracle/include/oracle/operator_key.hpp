#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace dooly::oracle {

/// What an operation is, whoever asks for it: the same for a taint trace, a plan made of a config.json and an imported
/// table. Equal work has equal keys; whatever changes the work (a window, a scale, a dtype, an implementation) is in
/// the key. Vocabulary of kinds, dimensions and attributes: docs/operator-keys.md.
struct OperatorKey {
  /// A semantic attribute. Numbers are finite; a whole number and the same value as a double are the same attribute.
  using Value = std::variant<bool, std::int64_t, double, std::string>;

  std::string kind;  ///< linear, attention, rms_norm, rope, silu_and_mul, moe, all_reduce, ...
  std::vector<std::string> dtypes;  ///< of inputs, then weights, then outputs, as the kind defines
  std::vector<std::uint64_t> dims;  ///< model dimensions by position, per GPU; values only
  std::vector<std::string> request_dims;  ///< symbols of what the request decides: "tokens", "requests", ...
  std::map<std::string, Value> attributes;  ///< causal, window, scale, soft_cap, kv_dtype, block_size, ...
  std::string family;  ///< implementation: cublas, fa3, flashinfer, triton-fused-moe, ...
  bool operator==(const OperatorKey&) const = default;
};

/// SHA-256 of a key's canonical form.
struct Signature {
  std::array<std::uint8_t, 32> bytes{};
  auto operator<=>(const Signature&) const = default;
  std::string hex() const;
  /// Throws OracleError unless `text` is 64 hex digits.
  static Signature from_hex(std::string_view text);
};

/// RFC 8785 canonical JSON of the key: member names sorted, numbers in shortest round-trip form, no white space, no
/// locale. Throws OracleError for a number that is not finite or text that is not UTF-8.
std::string canonical_json(const OperatorKey& key);
Signature signature_of(const OperatorKey& key);
/// Reads any JSON spelling of a key (canonical or not). Throws OracleError naming the member.
OperatorKey parse_operator_key(std::string_view json);

}  // namespace dooly::oracle
