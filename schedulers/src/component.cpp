#include "schedulers/component.hpp"

#include "names.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/component_error.hpp"
#include "schedulers/plugin_loader.hpp"

#include <span>
#include <string>

namespace dooly::schedulers {
namespace {

template <class Entry>
struct Kind;

template <>
struct Kind<sdk::PolicyEntry> {
  static constexpr const char* kName = "policy";
  static constexpr const char* kNone = "policies";
  static std::span<const sdk::PolicyEntry> builtin() { return builtin_policies(); }
  static std::span<const sdk::PolicyEntry> of(const sdk::DoolyPlugin& plugin) { return plugin.policies; }
};
template <>
struct Kind<sdk::RouterEntry> {
  static constexpr const char* kName = "router";
  static constexpr const char* kNone = "routers";
  static std::span<const sdk::RouterEntry> builtin() { return builtin_routers(); }
  static std::span<const sdk::RouterEntry> of(const sdk::DoolyPlugin& plugin) { return plugin.routers; }
};
template <>
struct Kind<sdk::OracleEntry> {
  static constexpr const char* kName = "oracle";
  static constexpr const char* kNone = "oracles";
  static std::span<const sdk::OracleEntry> builtin() { return {}; }
  static std::span<const sdk::OracleEntry> of(const sdk::DoolyPlugin& plugin) { return plugin.oracles; }
};

/// Throws ComponentError if the plug-in or the name is not there.
template <class Entry>
const Entry& entry_of(const Choice& choice) {
  using Of = Kind<Entry>;
  const std::span<const Entry> entries = choice.plugin == nullptr ? Of::builtin() : Of::of(load_plugin(*choice.plugin));
  for (const Entry& entry : entries) {
    if (choice.name == entry.name) return entry;
  }
  const std::string place = choice.plugin == nullptr ? "" : " in plug-in " + choice.plugin->string();
  const auto known = names_of(entries);
  throw ComponentError(std::string("unknown ") + Of::kName + place + suggestion(choice.name, known) + ", got " +
                       std::string(choice.name) +
                       (known.empty() ? std::string("; there are no ") + Of::kNone : "; allowed: " + listed(known)));
}

template <class Entry>
std::vector<OptionProblem> check(const Choice& choice) {
  try {
    return check_options(entry_of<Entry>(choice).options, choice.options);
  } catch (const ComponentError& error) {
    return {{"", error.what()}};
  }
}

template <class Entry>
Component<Entry> find(const Choice& choice) {
  const Entry& entry = entry_of<Entry>(choice);
  std::string text;
  for (const OptionProblem& problem : check_options(entry.options, choice.options)) {
    if (!text.empty()) text += '\n';
    text += std::string(Kind<Entry>::kName) + " '" + entry.name + "': option '" + problem.option + "': " + problem.what;
  }
  if (!text.empty()) throw ComponentError(text);
  return {entry, complete_options(entry.options, choice.options)};
}

}  // namespace

std::vector<OptionProblem> check_policy(const Choice& choice) { return check<sdk::PolicyEntry>(choice); }
std::vector<OptionProblem> check_router(const Choice& choice) { return check<sdk::RouterEntry>(choice); }
std::vector<OptionProblem> check_oracle(const Choice& choice) { return check<sdk::OracleEntry>(choice); }

Component<sdk::PolicyEntry> find_policy(const Choice& choice) { return find<sdk::PolicyEntry>(choice); }
Component<sdk::RouterEntry> find_router(const Choice& choice) { return find<sdk::RouterEntry>(choice); }
Component<sdk::OracleEntry> find_oracle(const Choice& choice) { return find<sdk::OracleEntry>(choice); }

}  // namespace dooly::schedulers
