#pragma once

#include "batch_text.hpp"
#include "command.hpp"
#include "terminal.hpp"

#include "oracle_profiled/profiled_oracle.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dooly::cli {

/// What `predict` and `serve-oracle` ask: one plan, one or several stores or the roofline alone, a GPU and the platform
/// around it.
struct OracleArguments {
  std::optional<std::string> plan, kind, gpu, platform, environment, max_tokens, max_seqs;
  std::vector<std::string> stores;
  bool eager = false, no_roofline = false;

  std::vector<OptionSpec> options();
  bool is_roofline() const { return kind == "roofline"; }
  /// Throws UsageError; whatever is wrong with plan, store or GPU comes out here. `terminal` is told whose attention
  /// answers where that is not the plan's.
  std::unique_ptr<oracle::ProfiledOracle> make(const Terminal& terminal) const;

 private:
  std::unique_ptr<oracle::ProfiledOracle> compiled(const oracle::StepPlan& step, const oracle::SampleSource* source,
                                                   const oracle::Gpu& device) const;
  std::unique_ptr<oracle::ProfiledOracle> make_roofline() const;
};

/// Time of an iteration as the device sees it: its kernels, or the launch that feeds them if that is longer.
double iteration_seconds(const oracle::StepCost& cost);

}  // namespace dooly::cli
