#include "oracle/physical_limit.hpp"

#include "oracle/operators.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <utility>

namespace dooly::oracle {
namespace {

double element_bytes(std::string_view dtype) {
  if (dtype == "float32") return 4;
  if (dtype == "fp8" || dtype == "fp8_block" || dtype == "int8") return 1;
  if (dtype == "int4" || dtype == "mxfp4") return 0.5;
  return 2;
}

double peak(const Gpu& gpu, std::string_view dtype) {
  if (dtype == "float32") return std::max(gpu.flops_32, gpu.flops_16);  // may run as TF32
  if (element_bytes(dtype) == 1 && dtype != "float32") return std::max(gpu.flops_8, 2 * gpu.flops_16);
  return gpu.flops_16;
}

double d(std::uint64_t value) { return static_cast<double>(value); }

std::uint64_t whole_attribute(const OperatorKey& key, const char* name) {
  const auto found = key.attributes.find(name);
  if (found == key.attributes.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

PhysicalWork linear(const OperatorKey& key, const SamplePoint& point) {
  const double m = d(point[0]), k = d(key.dims[0]), n = d(key.dims[1]);
  return {2 * m * k * n,
          k * n * element_bytes(key.dtypes[1]) + m * k * element_bytes(key.dtypes[0]) +
              m * n * element_bytes(key.dtypes[2]),
          key.dtypes[1]};
}

/// `reads_and_writes` passes over rows of dims[0].
PhysicalWork rows(const OperatorKey& key, const SamplePoint& point, double reads_and_writes) {
  return {0, d(point[0]) * d(key.dims[0]) * reads_and_writes * element_bytes(key.dtypes[0]), "float32"};
}

struct AttentionSum {
  double pairs = 0, queries = 0, kv_tokens = 0;
};

void add_sequences(AttentionSum& sum, std::uint64_t window, double count, std::uint64_t context, std::uint64_t query) {
  const AttentionKind kind = window > 0 ? AttentionKind::kSlidingWindow : AttentionKind::kFull;
  const auto reach = static_cast<std::uint32_t>(window);
  sum.pairs += count * attended_pairs(kind, reach, context, query);
  sum.kv_tokens += count * attended_tokens(kind, reach, context, query);
  sum.queries += count * d(query);
}

AttentionSum attention_sum(const OperatorKey& key, const SamplePoint& point) {
  const std::uint64_t window = whole_attribute(key, "window");
  AttentionSum sum;
  add_sequences(sum, window, d(point[0]), point[2], point[1]);
  const std::uint64_t longer = std::min(point[5], point[3]);
  if (point[3] > longer) add_sequences(sum, window, d(point[3] - longer), point[4], 1);
  if (longer > 0) add_sequences(sum, window, d(longer), point[6], 1);
  return sum;
}

PhysicalWork attention(const OperatorKey& key, const SamplePoint& point) {
  if (key.attributes.contains("chunk")) return {};
  const double heads = d(key.dims[0]), kv_heads = d(key.dims[1]), head_dim = d(key.dims[2]);
  const AttentionSum sum = attention_sum(key, point);
  return {4 * heads * head_dim * sum.pairs,
          2 * kv_heads * head_dim * element_bytes(key.dtypes[1]) * sum.kv_tokens +
              2 * heads * head_dim * element_bytes(key.dtypes[0]) * sum.queries,
          key.dtypes[1]};
}

PhysicalWork heads_product(const OperatorKey& key, const SamplePoint& point) {
  const double heads = d(key.dims[0]), k = d(key.dims[1]), n = d(key.dims[2]), m = d(point[0]);
  return {2 * heads * m * k * n, heads * (k * n + m * (k + n)) * element_bytes(key.dtypes[1]), key.dtypes[1]};
}

PhysicalWork mla_attention(const OperatorKey& key, const SamplePoint& point) {
  if (key.attributes.contains("top_k")) return {};
  const AttentionSum sum = attention_sum(key, point);
  const double heads = d(key.dims[0]), nope = d(key.dims[2]), rope = d(key.dims[3]), v = d(key.dims[4]);
  return {2 * heads * (nope + rope + v) * sum.pairs,
          (d(key.dims[1]) + rope) * element_bytes(key.dtypes[1]) * sum.kv_tokens, key.dtypes[1]};
}

PhysicalWork experts(const OperatorKey& key, const SamplePoint& point) {
  const double hidden = d(key.dims[0]), width = d(key.dims[1]), local = d(key.dims[2]), top_k = d(key.dims[3]);
  const auto gated = key.attributes.find("gated");
  const double matrices = gated != key.attributes.end() && gated->second == OperatorKey::Value(false) ? 2 : 3;
  const bool all_here = !key.attributes.contains("experts");
  const double active = point[1] > 0 ? d(point[1]) : (all_here ? std::min(top_k, local) : 0);
  return {all_here ? 2 * matrices * d(point[0]) * top_k * hidden * width : 0,
          active * matrices * hidden * width * element_bytes(key.dtypes[1]), key.dtypes[1]};
}

PhysicalWork heads_twice(const OperatorKey& key, const SamplePoint& point) {
  const double width = d(key.dims[0] + key.dims[1]) * d(key.dims[2]);
  return {0, 2 * d(point[0]) * width * element_bytes(key.dtypes[0]), "float32"};
}

/// What a kind's work is made of.
struct Rule {
  std::string_view kind;
  std::size_t dims, dtypes;  ///< that the key must have at least
  std::function<PhysicalWork(const OperatorKey&, const SamplePoint&)> work;
};

const Rule* rule_for(std::string_view kind) {
  static const std::array<Rule, 14> rules{{
      {"linear", 2, 3, linear},
      {"bmm", 3, 2, heads_product},
      {"attention", 3, 2, attention},
      {"mla_attention", 5, 2, mla_attention},
      {"moe_experts", 4, 2, experts},
      {"qk_norm", 3, 1, heads_twice},
      {"rope", 3, 1, heads_twice},
      {"rms_norm", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 2); }},
      {"layer_norm", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 2); }},
      {"silu_and_mul", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 3); }},
      {"gelu_and_mul", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 3); }},
      {"gelu", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 2); }},
      {"relu", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 2); }},
      {"add", 1, 1, [](const auto& key, const auto& point) { return rows(key, point, 3); }},
  }};
  const auto* const found = std::find_if(rules.begin(), rules.end(), [&](const Rule& r) { return r.kind == kind; });
  return found == rules.end() ? nullptr : found;
}

bool is_collective(std::string_view kind) {
  return kind == "all_reduce" || kind == "all_gather" || kind == "reduce_scatter" || kind == "all_to_all" ||
         kind == "send_recv";
}

/// What one rank receives at least.
double received_bytes(const OperatorKey& key, const SamplePoint& point) {
  const double bytes = d(point[0]), ranks = std::max(2.0, d(key.dims[0]));
  if (key.kind == "send_recv") return bytes;
  if (key.kind == "all_gather") return bytes * (ranks - 1);
  return bytes * (ranks - 1) / ranks;
}

void require_dimensions(const OperatorKey& key) {
  if (const std::string fault = work_fault(key); !fault.empty())
    throw OracleError("operator key " + canonical_json(key) + ": " + fault);
}

}  // namespace

std::string work_fault(const OperatorKey& key) {
  const Rule* rule = rule_for(key.kind);
  const std::size_t dims = rule != nullptr ? rule->dims : is_collective(key.kind) ? 1 : 0;
  const std::size_t dtypes = rule != nullptr ? rule->dtypes : 0;
  if (key.dims.size() < dims)
    return fmt::format("{} must have {} dims at least, has {}", key.kind, dims, key.dims.size());
  if (key.dtypes.size() < dtypes)
    return fmt::format("{} must have {} dtypes at least, has {}", key.kind, dtypes, key.dtypes.size());
  return {};
}

std::optional<PhysicalWork> physical_work(const OperatorKey& key, const SamplePoint& point) {
  const Rule* rule = rule_for(key.kind);
  if (rule == nullptr) return std::nullopt;
  require_dimensions(key);
  return rule->work(key, point);
}

std::optional<double> physical_limit_s(const OperatorKey& key, const SamplePoint& point, const Gpu& gpu) {
  if (is_collective(key.kind)) require_dimensions(key);
  if (is_collective(key.kind)) return received_bytes(key, point) / gpu.link_bandwidth;
  const std::optional<PhysicalWork> known = physical_work(key, point);
  if (!known) return std::nullopt;
  const PhysicalWork& work = *known;
  constexpr double kLastLevelCache = 128.0 * 1024 * 1024;
  const double compute = work.flops > 0 ? work.flops / peak(gpu, work.compute) : 0;
  return std::max(compute, std::max(0.0, work.bytes - kLastLevelCache) / gpu.memory_bandwidth);
}

}  // namespace dooly::oracle
