#pragma once

#include "profiling_taint/expression.hpp"

#include <compare>
#include <string>
#include <vector>

namespace dooly::profiling {

/// An unknown of polynomials. Equal ones have equal texts.
struct Atom {
  enum class Kind : std::uint8_t { kSymbol, kFloorDiv, kMin, kMax };
  Kind kind = Kind::kSymbol;
  std::string text;
  Origin origin = Origin::kModel;     ///< of a symbol
  std::vector<Expression> arguments;  ///< of the others
};

/// Arithmetic on terms; the order is graded lexical, which products keep.
struct ExpressionParts {
  using Factor = Expression::Factor;
  using Monomial = Expression::Monomial;
  using Term = Expression::Term;

  static const std::vector<Term>& terms(const Expression& e) { return e.terms_; }
  static std::strong_ordering compare(const Monomial& a, const Monomial& b);
  static Monomial product(const Monomial& a, const Monomial& b);
  static std::optional<Monomial> quotient(const Monomial& a, const Monomial& b);
  /// Sorts, adds up equal monomials and drops zeros.
  static Expression normal(std::vector<Term> terms);
  static Expression of_term(Term term) { return normal({std::move(term)}); }
  static Expression of_atom(Atom atom);
  /// Positive greatest common divisor of all coefficients, and the monomial that divides all terms.
  static Term content(const Expression& e);
  static std::int64_t checked_product(std::int64_t a, std::int64_t b);
  static std::int64_t checked_sum(std::int64_t a, std::int64_t b);
};

}  // namespace dooly::profiling
