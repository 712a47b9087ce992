#pragma once

#include "validate/comparison.hpp"
#include "validate/validation.hpp"
#include "validate/workbench.hpp"

#include <span>
#include <string>
#include <vector>

namespace dooly::validate {

/// What became of one bound.
struct Judgement {
  enum class Verdict { kMet, kMissed, kNotJudged };  ///< not judged: fewer pairs than the bound asks for
  Bound bound;
  double found = 0;  ///< signed error, or number of differences
  Verdict verdict = Verdict::kMissed;
};

/// One validation, done.
struct Outcome {
  Validation validation;
  Comparison comparison = {};
  std::vector<Judgement> judgements = {};
  std::string missing = {};  ///< path of data that is not there: nothing was compared

  bool is_skipped() const { return !missing.empty(); }
  bool is_met() const;  ///< no bound is missed
};

/// Compares and judges. Throws ValidationError, ScenarioError, DeploymentError; missing data is an outcome.
Outcome run_validation(const Validation& validation, Workbench& workbench);

/// Holds a comparison against bounds. Throws ValidationError for bounds that name nothing that was compared.
std::vector<Judgement> judge(std::span<const Bound> bounds, const Comparison& comparison);

/// Table for the terminal.
std::string outcome_text(const Outcome& outcome);
/// The same figures for programs in one line, `schema` 1; with the pairs of every series if `with_pairs`.
std::string outcome_json(const Outcome& outcome, bool with_pairs);
/// Distributions and scatter plots of the series that ask for one, as one SVG.
std::string outcome_svg(const Outcome& outcome);

}  // namespace dooly::validate
