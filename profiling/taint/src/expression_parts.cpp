#include "expression_parts.hpp"

#include "profiling_taint/taint_error.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace dooly::profiling {

namespace {

int degree(const ExpressionParts::Monomial& monomial) {
  int sum = 0;
  for (const auto& factor : monomial) sum += factor.power;
  return sum;
}

int power_of(const ExpressionParts::Monomial& monomial, const std::string& atom) {
  for (const auto& factor : monomial)
    if (factor.atom->text == atom) return factor.power;
  return 0;
}

}  // namespace

std::strong_ordering ExpressionParts::compare(const Monomial& a, const Monomial& b) {
  if (const auto by_degree = degree(a) <=> degree(b); std::is_neq(by_degree)) return by_degree;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    // Who has more of the alphabetically first atom is larger.
    if (const int order = a[i].atom->text.compare(b[i].atom->text); order != 0) {
      return order < 0 ? std::strong_ordering::greater : std::strong_ordering::less;
    }
    if (const auto by_power = a[i].power <=> b[i].power; std::is_neq(by_power)) return by_power;
  }
  return a.size() <=> b.size();
}

ExpressionParts::Monomial ExpressionParts::product(const Monomial& a, const Monomial& b) {
  Monomial all;
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() || j != b.end()) {
    const int order = i == a.end() ? 1 : j == b.end() ? -1 : i->atom->text.compare(j->atom->text);
    if (order == 0) {
      all.push_back({i->atom, i->power + j->power});
      ++i, ++j;
    } else {
      all.push_back(order < 0 ? *i++ : *j++);
    }
  }
  return all;
}

std::optional<ExpressionParts::Monomial> ExpressionParts::quotient(const Monomial& a, const Monomial& b) {
  Monomial rest = a;
  for (const Factor& divisor : b) {
    const auto found = std::find_if(rest.begin(), rest.end(),
                                    [&](const Factor& factor) { return factor.atom->text == divisor.atom->text; });
    if (found == rest.end() || found->power < divisor.power) return std::nullopt;
    found->power -= divisor.power;
    if (found->power == 0) rest.erase(found);
  }
  return rest;
}

Expression ExpressionParts::normal(std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return std::is_gt(compare(a.monomial, b.monomial)); });
  Expression sum;
  for (Term& term : terms) {
    if (!sum.terms_.empty() && std::is_eq(compare(sum.terms_.back().monomial, term.monomial))) {
      sum.terms_.back().coefficient = checked_sum(sum.terms_.back().coefficient, term.coefficient);
    } else {
      sum.terms_.push_back(std::move(term));
    }
  }
  std::erase_if(sum.terms_, [](const Term& term) { return term.coefficient == 0; });
  return sum;
}

Expression ExpressionParts::of_atom(Atom atom) {
  return of_term({{{std::make_shared<const Atom>(std::move(atom)), 1}}, 1});
}

ExpressionParts::Term ExpressionParts::content(const Expression& e) {
  Term common;
  for (const Term& term : e.terms_) {
    common.coefficient = std::gcd(common.coefficient, term.coefficient);
    if (&term == &e.terms_.front()) {
      common.monomial = term.monomial;
      continue;
    }
    for (Factor& factor : common.monomial) {
      factor.power = std::min(factor.power, power_of(term.monomial, factor.atom->text));
    }
    std::erase_if(common.monomial, [](const Factor& factor) { return factor.power == 0; });
  }
  return common;
}

std::int64_t ExpressionParts::checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result)) throw TaintError("a symbolic size overflows 64 bits");
  return result;
}

std::int64_t ExpressionParts::checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) throw TaintError("a symbolic size overflows 64 bits");
  return result;
}

}  // namespace dooly::profiling
