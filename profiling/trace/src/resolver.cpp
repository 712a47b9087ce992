#include "profiling_trace/resolver.hpp"

#include "profiling_measure/device_records.hpp"
#include "profiling_trace/module_tree.hpp"
#include "profiling_trace/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace dooly::profiling {

namespace {

void collect(const Trace& trace, std::size_t module, std::vector<std::size_t>& operators) {
  for (const TracedModule::Step& step : trace.modules[module].steps) {
    if (step.is_module) {
      collect(trace, step.index, operators);
    } else {
      operators.push_back(step.index);
    }
  }
}

bool is_block(const oracle::OperatorKey& key) {
  return key.kind == "attention" || key.kind == "mla_attention" || key.kind == "moe_experts" ||
         key.kind.ends_with("_and_mul");
}

class Resolver {
 public:
  Resolver(const Trace& trace, const SignedTrace& keys, const Runner& runner)
      : trace_(trace),
        keys_(keys),
        runner_(runner) {}

  Resolution resolve() {
    for (const SignedOperation& operation : keys_.operations) resolve(operation.operators, true);
    for (const std::size_t op : keys_.unsigned_) resolve({op}, false);
    for (auto& [module, why] : modules_) add_module(module, why);
    for (Pending& unit : pending_) {
      if (taken_.count(unit.operators.front()) == 1) continue;
      if (!unit.has_key) {
        result_.nameless.insert(result_.nameless.end(), unit.operators.begin(), unit.operators.end());
        continue;
      }
      add({false, trace_.operators[unit.operators.back()].module, std::move(unit.operators), "", false, 0});
    }
    total();
    return std::move(result_);
  }

 private:
  struct Pending {
    std::vector<std::size_t> operators;
    bool has_key = false;
  };

  /// Tries calls like these once.
  const std::string& try_run(const std::vector<std::size_t>& operators) {
    std::string text;
    for (const std::size_t op : operators) text += operator_text(trace_.operators[op].record) + "\n";
    const auto [entry, fresh] = tried_.try_emplace(std::move(text));
    if (fresh) entry->second = runner_(operators);
    return entry->second;
  }

  void resolve(const std::vector<std::size_t>& operators, bool has_key) {
    const std::string failure = try_run(operators);
    if (failure.empty()) {
      pending_.push_back({operators, has_key});
      return;
    }
    const std::string why = fmt::format("{}: {}", trace_.operators[operators.back()].record.name, failure);
    for (std::size_t module = trace_.operators[operators.back()].module; module != 0;
         module = trace_.modules[module].parent) {
      std::vector<std::size_t> all;
      collect(trace_, module, all);
      if (!try_run(all).empty()) continue;
      modules_.emplace(module, why);
      return;
    }
    result_.unresolved.insert(result_.unresolved.end(), operators.begin(), operators.end());
  }

  /// Outer modules come first: they have smaller numbers.
  void add_module(std::size_t module, const std::string& why) {
    ResolvedUnit unit{true, module, {}, why, false, 0};
    collect(trace_, module, unit.operators);
    std::erase_if(unit.operators, [&](std::size_t op) { return taken_.count(op) == 1; });
    if (unit.operators.empty()) return;
    const std::set<std::size_t> members(unit.operators.begin(), unit.operators.end());
    const auto blocks = std::count_if(keys_.operations.begin(), keys_.operations.end(), [&](const auto& operation) {
      return is_block(operation.key) && members.count(operation.operators.back()) == 1;
    });
    unit.too_large = blocks > 1;
    std::erase_if(result_.unresolved, [&](std::size_t op) { return members.count(op) == 1; });
    add(std::move(unit));
  }

  void add(ResolvedUnit unit) {
    for (const std::size_t op : unit.operators) {
      taken_.insert(op);
      unit.seconds += trace_.operators[op].seconds;
    }
    result_.units.push_back(std::move(unit));
  }

  void total() {
    double sum = 0;
    for (const TracedOperator& op : trace_.operators) sum += op.seconds;
    result_.total_seconds = std::max(trace_.seconds, sum);
    const bool timed = result_.total_seconds > 0;
    double covered = 0;
    for (const ResolvedUnit& unit : result_.units) {
      if (unit.is_module) result_.above_operator_seconds += unit.seconds;
      if (unit.too_large) continue;
      result_.attributed_seconds += unit.seconds;
      covered += static_cast<double>(unit.operators.size());
    }
    const std::set<std::size_t> views(keys_.views.begin(), keys_.views.end());
    const auto kernels = static_cast<double>(trace_.operators.size() - views.size());
    for (const ResolvedUnit& unit : result_.units) {
      if (unit.too_large) continue;
      covered -= static_cast<double>(std::count_if(unit.operators.begin(), unit.operators.end(),
                                                   [&](std::size_t op) { return views.count(op) == 1; }));
    }
    result_.coverage = timed ? result_.attributed_seconds / result_.total_seconds : kernels > 0 ? covered / kernels : 1;
  }

  const Trace& trace_;
  const SignedTrace& keys_;
  const Runner& runner_;
  std::map<std::string, std::string> tried_;
  std::vector<Pending> pending_;
  std::map<std::size_t, std::string> modules_;
  std::set<std::size_t> taken_;
  Resolution result_;
};

}  // namespace

Runner replay_runner(const Trace& trace) {
  return [&trace](const std::vector<std::size_t>& operators) -> std::string {
    try {
      Replay replay(trace);
      for (const std::size_t op : operators) replay.run(op);
      replay.finish();
    } catch (const std::exception& error) {
      const std::string what = error.what();
      return what.empty() ? "failed" : what.substr(0, what.find('\n'));
    }
    return {};
  };
}

Resolution resolve(const Trace& trace, const SignedTrace& keys, const Runner& runner) {
  return Resolver(trace, keys, runner).resolve();
}

std::string resolution_text(const Trace& trace, const Resolution& resolution) {
  const double total = resolution.total_seconds;
  std::string text = fmt::format("coverage {:.1f} %", 100 * resolution.coverage);
  if (total > 0) {
    text += fmt::format(" ({:.6f} s of {:.6f} s), in units above operator level {:.1f} %",
                        resolution.attributed_seconds, total, 100 * resolution.above_operator_seconds / total);
  }
  text += "\n";
  std::map<std::string, double> missing;
  const auto add = [&](const std::vector<std::size_t>& operators, const char* why) {
    for (const std::size_t op : operators) {
      std::string what = fmt::format("{} ({})", trace.operators[op].record.name, why);
      for (const std::string& kernel : trace.operators[op].kernels) (what += ' ') += kernel_text(kernel);
      missing[what] += trace.operators[op].seconds;
    }
  };
  add(resolution.unresolved, "does not run alone");
  add(resolution.nameless, "no operator key");
  for (const auto& [kernel, seconds] : trace.outside) {
    missing[fmt::format("{} (around the model: inputs, attention's plan, results)", kernel_text(kernel))] += seconds;
  }
  for (const ResolvedUnit& unit : resolution.units) {
    const std::string& path = trace.modules[unit.module].path;
    if (unit.too_large) missing[fmt::format("{} (more than one block: {})", path, unit.why)] += unit.seconds;
  }
  double rest = total - resolution.attributed_seconds;
  for (const auto& [what, seconds] : missing) rest -= seconds;
  constexpr double kRounding = 1e-6;
  if (rest > kRounding * total) missing["the host: between operators, and views"] = rest;
  std::vector<std::pair<std::string, double>> sorted(missing.begin(), missing.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [what, seconds] : sorted) {
    text += total > 0 ? fmt::format("  missing {:.2f} %, {:.1f} us: {}\n", 100 * seconds / total, seconds * 1e6, what)
                      : fmt::format("  missing: {}\n", what);
  }
  for (const ResolvedUnit& unit : resolution.units) {
    if (unit.is_module && !unit.too_large) {
      text += fmt::format("  as a module: {} ({})\n", trace.modules[unit.module].path, unit.why);
    }
  }
  return text;
}

}  // namespace dooly::profiling
