#include "oracle/oracle_error.hpp"
#include "oracle/step_plan.hpp"
#include "strict_json.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace dooly::oracle {

namespace {

using Json = nlohmann::json;  // sorts its members

constexpr int kVersion = 1;

constexpr std::array<std::string_view, 18> kPlanMembers{
    "dooly_plan",      "model",      "backend",         "backend_is_default",
    "dtype",           "kv_dtype",   "tensor_parallel", "pipeline_parallel",
    "expert_parallel", "stage",      "block_size",      "first_layer",
    "dense_layers",    "moe_layers", "parameters",      "kv_bytes_per_token",
    "entries",         "modules"};
constexpr std::array<std::string_view, 11> kEntryMembers{"name",
                                                         "key",
                                                         "signature",
                                                         "binding",
                                                         "count",
                                                         "flops_per_token",
                                                         "decode_flops_per_pair",
                                                         "weight_bytes",
                                                         "bytes_per_token",
                                                         "per_row",
                                                         "rows_per_token"};
constexpr std::array<std::string_view, 5> kModuleMembers{"name", "key", "signature", "count", "replaces"};

constexpr std::array kBindings{Binding::kTokens,     Binding::kLogitsRows,    Binding::kAttention,   Binding::kExperts,
                               Binding::kCollective, Binding::kPrefillTokens, Binding::kDecodeTokens};

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw OracleError(fmt::format("step plan: {}: {}", where, what));
}

Json to_json(const PlanEntry& entry) {
  Json out{{"name", entry.name},
           {"key", Json::parse(canonical_json(entry.key))},
           {"signature", entry.signature.hex()},
           {"binding", binding_name(entry.binding)},
           {"count", entry.count},
           {"flops_per_token", entry.flops_per_token},
           {"weight_bytes", entry.weight_bytes},
           {"bytes_per_token", entry.bytes_per_token}};
  if (entry.binding == Binding::kAttention) out["decode_flops_per_pair"] = entry.decode_flops_per_pair;
  if (entry.per_row) out["per_row"] = true;
  if (entry.rows_per_token != 1) out["rows_per_token"] = entry.rows_per_token;
  return out;
}

Json to_json(const PlanModule& module) {
  return {{"name", module.name},
          {"key", Json::parse(canonical_json(module.key))},
          {"signature", module.signature.hex()},
          {"count", module.count},
          {"replaces", module.replaces}};
}

/// Members of one object, each checked; no others may stand there.
class Members {
 public:
  Members(const Json& object, std::string where, std::span<const std::string_view> allowed)
      : object_(object),
        where_(std::move(where)) {
    if (!object.is_object()) fail(where_.empty() ? "the file" : where_, "must be an object");
    for (const auto& [name, value] : object.items())
      if (std::find(allowed.begin(), allowed.end(), name) == allowed.end())
        fail(path(name.c_str()), fmt::format("unknown; allowed: {}", fmt::join(allowed, ", ")));
  }

  const Json& at(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) fail(where_, fmt::format("'{}' is missing", name));
    return *found;
  }

  std::string text(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string()) fail(path(name), "must be a text");
    return value.get<std::string>();
  }

  double number(const char* name) const {
    const Json& value = at(name);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!(number >= 0) || !std::isfinite(number)) fail(path(name), "must be a number of at least 0");
    return number;
  }
  double number_or(const char* name, double fallback) const { return object_.contains(name) ? number(name) : fallback; }

  template <std::unsigned_integral T>
  T count(const char* name, T least = 0) const {
    const Json& value = at(name);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max() ||
        value.get<std::uint64_t>() < least) {
      fail(path(name), fmt::format("must be a whole number of at least {}, got {}", least, value.dump()));
    }
    return value.get<T>();
  }
  std::uint32_t count_or(const char* name, std::uint32_t fallback) const {
    return object_.contains(name) ? count<std::uint32_t>(name, 1) : fallback;
  }

  bool flag_or(const char* name, bool fallback) const {
    if (!object_.contains(name)) return fallback;
    if (!at(name).is_boolean()) fail(path(name), "must be true or false");
    return at(name).get<bool>();
  }

  const Json& list(const char* name) const {
    if (!at(name).is_array()) fail(path(name), "must be a list");
    return at(name);
  }

  std::string path(const char* name) const { return where_.empty() ? name : fmt::format("{}.{}", where_, name); }
  const std::string& where() const { return where_; }

 private:
  const Json& object_;
  std::string where_;
};

void read_key(const Members& in, OperatorKey& key, Signature& signature) {
  try {
    key = parse_operator_key(in.at("key").dump());
  } catch (const OracleError& error) {
    fail(in.path("key"), error.what());
  }
  signature = signature_of(key);
  if (signature.hex() != in.text("signature")) {
    fail(in.path("signature"), fmt::format("is not that of the key, which is {}", signature.hex()));
  }
}

PlanEntry read_entry(const Members& in) {
  PlanEntry entry;
  entry.name = in.text("name");
  read_key(in, entry.key, entry.signature);
  const std::string binding = in.text("binding");
  bool known = false;
  for (const Binding candidate : kBindings) {
    if (binding_name(candidate) != binding) continue;
    entry.binding = candidate;
    known = true;
  }
  if (!known) fail(in.path("binding"), fmt::format("unknown binding '{}'", binding));
  entry.count = in.count<std::uint32_t>("count", 1);
  entry.flops_per_token = in.number("flops_per_token");
  entry.decode_flops_per_pair = in.number_or("decode_flops_per_pair", 0);
  entry.weight_bytes = in.number("weight_bytes");
  entry.bytes_per_token = in.number("bytes_per_token");
  entry.per_row = in.flag_or("per_row", false);
  entry.rows_per_token = in.count_or("rows_per_token", 1);
  return entry;
}

PlanModule read_module(const Members& in) {
  PlanModule module;
  module.name = in.text("name");
  read_key(in, module.key, module.signature);
  module.count = in.count<std::uint32_t>("count", 1);
  for (const Json& name : in.list("replaces")) {
    if (!name.is_string()) fail(in.path("replaces"), "must be a list of texts");
    module.replaces.push_back(name.get<std::string>());
  }
  return module;
}

}  // namespace

std::string plan_json(const StepPlan& plan) {
  Json out{{"dooly_plan", kVersion},
           {"model", plan.model},
           {"backend", plan.backend},
           {"dtype", plan.dtype},
           {"kv_dtype", plan.kv_dtype},
           {"tensor_parallel", plan.tensor_parallel},
           {"pipeline_parallel", plan.pipeline_parallel},
           {"expert_parallel", plan.expert_parallel},
           {"stage", plan.stage},
           {"block_size", plan.block_size},
           {"first_layer", plan.first_layer},
           {"dense_layers", plan.dense_layers},
           {"moe_layers", plan.moe_layers},
           {"parameters", plan.parameters},
           {"kv_bytes_per_token", plan.kv_bytes_per_token},
           {"entries", Json::array()},
           {"modules", Json::array()}};
  if (plan.backend_is_default) out["backend_is_default"] = true;
  for (const PlanEntry& entry : plan.entries) out["entries"].push_back(to_json(entry));
  for (const PlanModule& module : plan.modules) out["modules"].push_back(to_json(module));
  try {
    return out.dump(1) + "\n";
  } catch (const Json::exception&) {
    fail("model", "is not UTF-8");
  }
}

StepPlan parse_plan(std::string_view text) {
  const Json root = parse_strictly(text, "step plan");
  const Members in(root, "", kPlanMembers);
  if (const auto version = in.count<std::uint32_t>("dooly_plan"); version != kVersion) {
    fail("dooly_plan", fmt::format("format {} is not known, this version reads {}", version, kVersion));
  }
  StepPlan plan;
  plan.model = in.text("model");
  plan.backend = in.text("backend");
  plan.backend_is_default = in.flag_or("backend_is_default", false);
  plan.dtype = in.text("dtype");
  plan.kv_dtype = in.text("kv_dtype");
  plan.tensor_parallel = in.count<std::uint32_t>("tensor_parallel", 1);
  plan.pipeline_parallel = in.count<std::uint32_t>("pipeline_parallel", 1);
  plan.expert_parallel = in.count<std::uint32_t>("expert_parallel", 1);
  plan.stage = in.count<std::uint32_t>("stage");
  plan.block_size = in.count<std::uint32_t>("block_size", 1);
  plan.first_layer = in.count<std::uint32_t>("first_layer");
  plan.dense_layers = in.count<std::uint32_t>("dense_layers");
  plan.moe_layers = in.count<std::uint32_t>("moe_layers");
  plan.parameters = in.count<std::uint64_t>("parameters");
  plan.kv_bytes_per_token = in.number("kv_bytes_per_token");
  std::size_t index = 0;
  for (const Json& entry : in.list("entries")) {
    plan.entries.push_back(read_entry(Members(entry, fmt::format("entries[{}]", index++), kEntryMembers)));
  }
  index = 0;
  for (const Json& module : in.list("modules")) {
    plan.modules.push_back(read_module(Members(module, fmt::format("modules[{}]", index++), kModuleMembers)));
  }
  return plan;
}

}  // namespace dooly::oracle
