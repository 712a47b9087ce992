#include "profiling_trace/module_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dooly::profiling {

namespace {

/// What a module does, as text that equal ones share.
class Digests {
 public:
  explicit Digests(const Trace& trace) : trace_(trace), texts_(trace.modules.size()) {}

  const std::string& of(std::size_t module) {
    std::string& text = texts_[module];
    if (!text.empty()) return text;
    text = trace_.modules[module].kind + "{";
    for (const TracedModule::Step& step : trace_.modules[module].steps) {
      if (step.is_module) {
        text += fmt::format("m{};", number(trace_.modules[step.index].kind + of(step.index)));
      } else {
        text += fmt::format("o{};", number(operator_text(trace_.operators[step.index].record)));
      }
    }
    return text += "}";
  }

 private:
  std::size_t number(const std::string& text) { return numbers_.emplace(text, numbers_.size()).first->second; }
  const Trace& trace_;
  std::vector<std::string> texts_;
  std::map<std::string, std::size_t> numbers_;
};

/// "layers.12" -> {"layers.", 12}; no number: -1.
std::pair<std::string, int> numbered(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == name.size() || digits == std::string::npos) return {name, -1};
  return {name.substr(0, digits), std::stoi(name.substr(digits))};
}

double seconds_of(const Trace& trace, std::size_t module) {
  double sum = 0;
  for (const TracedModule::Step& step : trace.modules[module].steps) {
    sum += step.is_module ? seconds_of(trace, step.index) : trace.operators[step.index].seconds;
  }
  return sum;
}

/// `equals` are folded into one; `all` are those of equal parents too: steps of the same place are equal.
FoldedModule fold_modules(const Trace& trace, const std::vector<std::size_t>& equals,
                          const std::vector<std::size_t>& all, Digests& digests) {
  FoldedModule folded;
  folded.module = equals.front();
  folded.equals = equals;
  for (const std::size_t module : all) folded.seconds += seconds_of(trace, module);
  std::map<std::string, std::size_t> known;
  std::vector<std::vector<std::size_t>> places;  // of each folded child, among the steps
  const std::vector<TracedModule::Step>& steps = trace.modules[folded.module].steps;
  for (std::size_t place = 0; place < steps.size(); ++place) {
    if (!steps[place].is_module) {
      double seconds = 0;
      for (const std::size_t module : all) seconds += trace.operators[trace.modules[module].steps[place].index].seconds;
      folded.steps.push_back({false, steps[place].index, seconds});
      continue;
    }
    const std::size_t child = steps[place].index;
    const std::string key = numbered(trace.modules[child].name).first + "/" + digests.of(child);
    const auto [entry, fresh] = known.emplace(key, places.size());
    if (fresh) {
      folded.steps.push_back({true, places.size(), 0});
      places.emplace_back();
    }
    places[entry->second].push_back(place);
  }
  for (const std::vector<std::size_t>& child_places : places) {
    std::vector<std::size_t> own, others;
    for (const std::size_t place : child_places) own.push_back(steps[place].index);
    for (const std::size_t module : all)
      for (const std::size_t place : child_places) others.push_back(trace.modules[module].steps[place].index);
    folded.modules.push_back(fold_modules(trace, own, others, digests));
  }
  return folded;
}

}  // namespace

FoldedModule fold(const Trace& trace) {
  Digests digests(trace);
  return fold_modules(trace, {0}, {0}, digests);
}

std::string folded_name(const Trace& trace, const FoldedModule& module) {
  std::string all;
  for (std::size_t i = 0; i < module.equals.size();) {
    const auto [stem, first] = numbered(trace.modules[module.equals[i]].name);
    std::size_t end = i + 1;
    while (end < module.equals.size() && first >= 0 &&
           numbered(trace.modules[module.equals[end]].name) == std::pair(stem, first + static_cast<int>(end - i))) {
      ++end;
    }
    const std::string& last = trace.modules[module.equals[end - 1]].name;
    all += (all.empty() ? "" : ", ") + trace.modules[module.equals[i]].name;
    if (end - i > 1) all += (end - i > 2 ? " … " : ", ") + last;
    i = end;
  }
  return all;
}

}  // namespace dooly::profiling
