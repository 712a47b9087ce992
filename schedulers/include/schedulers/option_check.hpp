#pragma once

#include "dooly/sdk/options.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace dooly::schedulers {

/// Option values as the user wrote them.
using GivenOptions = std::map<std::string, std::string>;

/// Something wrong with a component: with the option of that name, or with its own name or plug-in if `option` is
/// empty.
struct OptionProblem {
  std::string option;
  std::string what;  ///< "must be at most 1, got 3"
  bool operator==(const OptionProblem&) const = default;
};

/// All that is wrong with `given` under this schema: unknown names (with the nearest known one), missing required
/// options, wrong types, values out of range. In the order of the names given, then the missing ones.
std::vector<OptionProblem> check_options(std::span<const sdk::OptionSpec> schema, const GivenOptions& given);

/// The values given, completed by the defaults. Precondition: check_options() found nothing.
sdk::Options complete_options(std::span<const sdk::OptionSpec> schema, const GivenOptions& given);

/// One option on a line: "batch_size: integer, at least 1, default 8: most requests in a batch".
std::string describe(const sdk::OptionSpec& option);

}  // namespace dooly::schedulers
