#pragma once

#include "validate/validation.hpp"
#include "validate/workbench.hpp"

#include <string>
#include <vector>

namespace dooly::validate {

/// What a changed term does to the predicted mean of each series, relative.
struct SensitivityRow {
  std::string term;
  std::vector<double> less, more;  ///< by series
};

/// How much each term of a step matters in one validation.
struct Sensitivity {
  double change = 0;  ///< relative, of the terms
  std::vector<std::string> series;
  std::vector<SensitivityRow> rows;
};

/// Predicts the requests again with every term of the oracle `change` smaller and larger. Throws what run_validation
/// throws, and MissingData.
Sensitivity sensitivity(const Validation& validation, Workbench& workbench, double change);

std::string sensitivity_text(const Validation& validation, const Sensitivity& sensitivity);

}  // namespace dooly::validate
