#include "oracle/kernel_families.hpp"

#include <fmt/format.h>

#include <cxxabi.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace dooly::oracle {
namespace {

struct Rule {
  std::string_view part, family;
};

/// In order: the first that any symbol holds decides, so a library's own kernel comes before the helpers around it.
constexpr std::array kRules = {Rule{"FlashAttnFwd", "fa3"},
                               Rule{"pytorch_flash", "torch"},
                               Rule{"flash_fwd", "fa2"},
                               Rule{"flashinfer", "flashinfer"},
                               Rule{"fused_moe_kernel", "triton-fused-moe"},
                               Rule{"kernel_unified_attention", "triton"},
                               Rule{"nvjet", "cublas"},
                               Rule{"cublas", "cublas"},
                               Rule{"gemv", "cublas"},
                               Rule{"xmma", "cublas"},
                               Rule{"vllm", "vllm-c"},
                               Rule{"triton", "triton"},
                               Rule{"cutlass", "cutlass"},
                               Rule{"at6native", "torch"},
                               Rule{"at::native", "torch"}};

constexpr std::array<std::string_view, 2> kKernelLibraries = {"flashinfer", "triton"};

bool is_known(std::string_view family) {
  return std::any_of(kRules.begin(), kRules.end(), [&](const Rule& rule) { return rule.family == family; });
}

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 && text ? std::string(text.get()) : symbol;
}

/// "128x64", "sm90", "80".
bool is_instance(std::string_view word) {
  if (word.starts_with("sm")) word.remove_prefix(2);
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](unsigned char c) { return std::isdigit(c) != 0 || c == 'x'; });
}

std::string normalised(const std::string& symbol) {
  const std::string whole = demangled(symbol);
  std::string_view name = std::string_view(whole).substr(0, whole.find_first_of("<("));
  if (const std::size_t space = name.rfind(' '); space != std::string_view::npos) name.remove_prefix(space + 1);
  std::string out;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('_'), name.size());
    if (!is_instance(name.substr(0, end))) (out += out.empty() ? "" : "_") += name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return out.empty() ? whole : out;
}

/// LibTorch's compositions and cuBLAS have the products of others computed.
bool calls(std::string_view family, std::string_view ran) {
  if (family == "torch") return ran == "cublas" || ran == "cutlass";
  if (family == "cublas") return ran == "cutlass";
  return family == "inductor" && ran == "triton";
}

}  // namespace

std::string kernel_family(const std::vector<std::string>& symbols) {
  for (const Rule& rule : kRules)
    for (const std::string& symbol : symbols)
      if (symbol.find(rule.part) != std::string::npos) return std::string(rule.family);
  return symbols.empty() ? std::string() : normalised(symbols.front());
}

std::uint64_t kernels_mark(const Sample& sample) {
  if (sample.kernels.empty()) return 0;
  std::string all;
  for (const std::string& kernel : sample.kernels) all += kernel + '\n';
  return std::max<std::uint64_t>(1, std::hash<std::string>{}(all));
}

FamilyMatch family_match(const OperatorKey& key, std::string_view ran) {
  if (ran.empty() || ran == key.family || calls(key.family, ran)) return FamilyMatch::kSame;
  const bool is_compiled = key.family == "inductor";
  if (!is_compiled && !is_known(key.family)) return FamilyMatch::kSame;
  if (!is_known(ran)) return FamilyMatch::kUnknown;
  return is_compiled && (ran == "torch" || ran == "vllm-c") ? FamilyMatch::kStandIn : FamilyMatch::kOther;
}

std::string family_finding(const OperatorKey& key, std::string_view ran) {
  switch (family_match(key, ran)) {
    case FamilyMatch::kSame: return {};
    case FamilyMatch::kStandIn: return fmt::format("ran kernels of {}, the key names {} (a stand-in)", ran, key.family);
    case FamilyMatch::kUnknown:
      return fmt::format("ran kernels of {}, which is no family that is known, the key names {}", ran, key.family);
    case FamilyMatch::kOther: return fmt::format("ran kernels of {}, the key names {}", ran, key.family);
  }
  return {};
}

std::string_view kernel_library(const OperatorKey& key) {
  if (key.family == "flashinfer") return "flashinfer";
  const bool is_of_heads = key.kind == "qk_norm" && key.family == "inductor" && !key.attributes.contains("layer_norm");
  if (key.family == "triton" || key.family == "triton-fused-moe" || is_of_heads) return "triton";
  return {};
}

std::vector<std::string> kernel_libraries() { return {kKernelLibraries.begin(), kKernelLibraries.end()}; }

Environment environment_of(const OperatorKey& key, Environment machine) {
  for (const std::string_view library : kKernelLibraries)
    if (library != kernel_library(key)) machine.libraries.erase(std::string(library));
  return machine;
}

Environment common_environment(Environment environment) {
  for (const std::string_view library : kKernelLibraries) environment.libraries.erase(std::string(library));
  return environment;
}

}  // namespace dooly::oracle
