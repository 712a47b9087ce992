#pragma once

#include "profiling_taint/expression.hpp"

#include <c10/core/SymInt.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Where a tainted integer stopped being symbolic: a comparison decided a branch, or somebody asked for its value. A
/// second pass with other sizes shows whether the branch depends on them.
struct Concretisation {
  std::string what;  ///< "num_tokens > 1", "int(num_tokens)"
  std::int64_t result = 0;
  bool operator==(const Concretisation&) const = default;
};

/// A c10::SymInt that is `value` and knows that it is `expression`: arithmetic keeps both. A plain integer if the
/// expression is a constant.
c10::SymInt tainted_int(std::int64_t value, const Expression& expression);
/// Nothing for a plain integer. Throws TaintError for a symbolic one that is not ours.
std::optional<Expression> expression_of(const c10::SymInt& integer);

/// While it lives, concretisations on this thread are appended to `log`, repeated ones once.
class ConcretisationLog {
 public:
  explicit ConcretisationLog(std::vector<Concretisation>& log);
  ~ConcretisationLog();
  ConcretisationLog(const ConcretisationLog&) = delete;
  ConcretisationLog& operator=(const ConcretisationLog&) = delete;

 private:
  std::vector<Concretisation>* before_;
};

}  // namespace dooly::profiling
