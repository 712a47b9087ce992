#pragma once

#include "oracle/environment.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::oracle {

/// The implementation that kernel symbols (mangled or not) tell of: fa3, fa2, cublas, vllm-c, triton-fused-moe, torch,
/// …; of several the one that does the work, not the helpers around it. Symbols that are all unknown make a family of
/// their own: the first one's name without arguments, template instance, tile and architecture. Empty: no kernels.
std::string kernel_family(const std::vector<std::string>& symbols);

/// Equal for samples that ran the same kernels, within this program; 0: not known which.
std::uint64_t kernels_mark(const Sample& sample);

/// How the kernels that ran go with the family that a key names.
enum class FamilyMatch : std::uint8_t {
  kSame,  ///< they are of it, or nothing can be said: no symbols, or a family that only dispatches
  kStandIn,  ///< LibTorch's or the engine's own, for an operator that the engine's compiler makes
  kUnknown,  ///< their symbols tell of no library that is known
  kOther  ///< they are another implementation's
};
/// `ran`: kernel_family() of the symbols.
FamilyMatch family_match(const OperatorKey& key, std::string_view ran);
/// "ran kernels of torch, the key names inductor (a stand-in)"; empty where the match is kSame.
std::string family_finding(const OperatorKey& key, std::string_view ran);

/// The library, beside engine and LibTorch, whose version decides what the kernels of a key are: `triton` (attention,
/// fused experts, norms of heads), `flashinfer`. Empty: none.
std::string_view kernel_library(const OperatorKey& key);
std::vector<std::string> kernel_libraries();  ///< all of them
/// Of a machine's environment what had a part in running `key`: without the kernel libraries of other families. So
/// samples are shared by back ends, and those of two versions of a library stay apart.
Environment environment_of(const OperatorKey& key, Environment machine);
/// The environment without any of those libraries: equal for all operators measured with one engine on one machine.
Environment common_environment(Environment environment);

}  // namespace dooly::oracle
