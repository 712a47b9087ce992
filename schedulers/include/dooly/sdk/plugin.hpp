#pragma once

#include "dooly/sdk/entries.hpp"

#include <cstdint>
#include <span>

namespace dooly::sdk {

/// Changes with every change of a type, virtual function or rule of the SDK; a plug-in with another number is refused.
inline constexpr std::uint32_t kAbiNumber = 2;

/// What else must agree before C++ objects may cross the border: processor, standard library and its variant.
inline constexpr const char* kCompilerTag =
#if defined(__x86_64__)
    "x86_64"
#elif defined(__aarch64__)
    "aarch64"
#else
    "other-processor"
#endif
#if defined(__GLIBCXX__)
    " libstdc++"
#if _GLIBCXX_USE_CXX11_ABI
    " cxx11"
#else
    " pre-cxx11"
#endif
#if defined(_GLIBCXX_DEBUG)
    " debug-containers"
#endif
#else
    " other-library"
#endif
    ;

/// What a plug-in library offers. Its first two members never move: they are compared before anything else is read.
struct DoolyPlugin {
  std::uint32_t abi = kAbiNumber;
  const char* compiler = kCompilerTag;
  const char* name = "";
  const char* version = "";
  std::span<const PolicyEntry> policies = {};
  std::span<const RouterEntry> routers = {};
  std::span<const OracleEntry> oracles = {};
};

}  // namespace dooly::sdk

/// Exports the plug-in; once per library, outside of any namespace. After name and version come the arrays that it has,
/// in this order:
///   DOOLY_PLUGIN("mine", "1.0", .policies = kPolicies, .routers = kRouters, .oracles = kOracles)
#define DOOLY_PLUGIN(plugin_name, plugin_version, ...)                                                  \
  extern "C" __attribute__((visibility("default"))) const dooly::sdk::DoolyPlugin* dooly_plugin() {     \
    static const dooly::sdk::DoolyPlugin plugin{.name = (plugin_name),                                  \
                                                .version = (plugin_version)__VA_OPT__(, ) __VA_ARGS__}; \
    return &plugin;                                                                                     \
  }                                                                                                     \
  static_assert(true, "ends with a semicolon")
