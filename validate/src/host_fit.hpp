#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace dooly::validate {

/// Platform terms that share one value.
using HostParameter = std::vector<std::string>;

/// Parameters behind a word of `fit: terms`. `gaps` is one: kernels of one CUDA graph follow each other by themselves,
/// so only steps that are launched in pieces (piecewise and none alike) have any. `launch` and `lead` are two, of steps
/// that are one graph and of all others. Other words are the term of that name. Throws std::invalid_argument where
/// there is none.
std::vector<HostParameter> host_parameters(const std::string& word);

/// Host terms, seconds by name.
using HostTerms = std::map<std::string, double>;

struct HostFit {
  HostTerms terms;  ///< of the parameters alone
  double error_before = 0, error_after = 0;  ///< mean size of the residuals: parameters 0, fitted
  unsigned runs = 0;  ///< evaluations of the residuals
};

/// Parameters >= 0 that make residuals (relative errors) small: their squares up to a few per cent, beyond that their
/// sizes, as a request that just misses a step is off by a whole one. Gauss-Newton steps from 0: forward differences
/// over a millisecond, reweighted non-negative least squares, at most four steps, as long as it pays, halved where it
/// does not. Deterministic.
HostFit fit_host_terms(const std::vector<HostParameter>& parameters,
                       const std::function<std::vector<double>(const HostTerms&)>& residuals);

}  // namespace dooly::validate
