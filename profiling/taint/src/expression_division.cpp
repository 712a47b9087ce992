#include "expression_parts.hpp"
#include "profiling_taint/taint_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace dooly::profiling {

using Parts = ExpressionParts;

namespace {

std::int64_t floored(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// What leaves a floor division whole, and what stays inside.
struct Division {
  Expression whole, rest;
};

Division pull_out(const Expression& a, const Expression& b) {
  Division parts;
  for (const auto& term : Parts::terms(a)) {
    const Expression one = Parts::of_term(term);
    if (const auto exact = one.exact_quotient(b)) {
      parts.whole = parts.whole + *exact;
    } else if (const auto divisor = b.constant()) {
      const std::int64_t times = floored(term.coefficient, *divisor);
      parts.whole = parts.whole + Parts::of_term({term.monomial, times});
      parts.rest = parts.rest + Parts::of_term({term.monomial, term.coefficient - times * *divisor});
    } else {
      parts.rest = parts.rest + one;
    }
  }
  return parts;
}

/// What divides every term of both.
Expression common_content(const Expression& a, const Expression& b) {
  Parts::Term term = Parts::content(a);
  const Parts::Term other = Parts::content(b);
  term.coefficient = std::gcd(term.coefficient, other.coefficient);
  for (auto& factor : term.monomial) {
    int power = 0;
    for (const auto& mine : other.monomial)
      if (mine.atom->text == factor.atom->text) power = std::min(factor.power, mine.power);
    factor.power = power;
  }
  std::erase_if(term.monomial, [](const auto& factor) { return factor.power == 0; });
  return Parts::of_term(term);
}

std::string division_text(const Expression& a, const Expression& b) {
  const auto parenthesised = [](const Expression& e) {
    const bool one = Parts::terms(e).size() == 1 && Parts::terms(e).front().monomial.size() <= 1;
    return one ? e.text() : fmt::format("({})", e.text());
  };
  const Expression ceiled = a - b + Expression(1);  // ⌈x / b⌉ = ⌊(x + b - 1) / b⌋
  const bool shorter = Parts::terms(ceiled).size() < Parts::terms(a).size();
  if (shorter && !ceiled.constant()) return fmt::format("ceil({} / {})", ceiled.text(), parenthesised(b));
  return fmt::format("({} // {})", parenthesised(a), parenthesised(b));
}

Expression division_atom(const Expression& a, const Expression& b) {
  const auto& terms = Parts::terms(a);
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].monomial.size() == 1 &&
      terms[0].monomial[0].power == 1 && terms[0].monomial[0].atom->kind == Atom::Kind::kFloorDiv) {
    const auto& inner = terms[0].monomial[0].atom->arguments;  // ⌊⌊x / c⌋ / b⌋ = ⌊x / (c*b)⌋
    return Expression::floor_div(inner[0], inner[1] * b);
  }
  return Parts::of_atom({Atom::Kind::kFloorDiv, division_text(a, b), Origin::kModel, {a, b}});
}

/// Never negative for sizes: sums of products of symbols.
bool surely_not_negative(const Expression& e) {
  return std::all_of(Parts::terms(e).begin(), Parts::terms(e).end(), [](const Parts::Term& term) {
    return term.coefficient > 0 && std::all_of(term.monomial.begin(), term.monomial.end(), [](const auto& factor) {
             return factor.atom->kind != Atom::Kind::kFloorDiv || surely_not_negative(factor.atom->arguments[0]);
           });
  });
}

/// Arguments of nested equal operations, sorted, without those that another one always beats.
Expression extreme(Atom::Kind kind, const Expression& a, const Expression& b) {
  std::vector<Expression> all;
  for (const Expression& e : {a, b}) {
    const auto& terms = Parts::terms(e);
    const bool nested = terms.size() == 1 && terms[0].coefficient == 1 && terms[0].monomial.size() == 1 &&
                        terms[0].monomial[0].power == 1 && terms[0].monomial[0].atom->kind == kind;
    if (nested) {
      const auto& inner = terms[0].monomial[0].atom->arguments;
      all.insert(all.end(), inner.begin(), inner.end());
    } else {
      all.push_back(e);
    }
  }
  std::sort(all.begin(), all.end(), [](const Expression& x, const Expression& y) { return x.text() < y.text(); });
  std::vector<Expression> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool beaten = false;
    for (std::size_t j = 0; j < all.size() && !beaten; ++j) {
      const Expression gap = kind == Atom::Kind::kMin ? all[i] - all[j] : all[j] - all[i];
      beaten = i != j && surely_not_negative(gap) && (gap != Expression(0) || j < i);
    }
    if (!beaten) kept.push_back(all[i]);
  }
  if (kept.size() == 1) return kept.front();
  std::string text = kind == Atom::Kind::kMin ? "min(" : "max(";
  for (const Expression& e : kept) text += (&e == &kept.front() ? "" : ", ") + e.text();
  return Parts::of_atom({kind, text + ")", Origin::kModel, kept});
}

std::int64_t atom_value(const Atom& atom, const Binding& binding) {
  if (atom.kind == Atom::Kind::kSymbol) {
    const auto found = binding.find(atom.text);
    if (found == binding.end()) throw TaintError("symbol '" + atom.text + "' has no value");
    return found->second;
  }
  std::vector<std::int64_t> values;
  for (const Expression& argument : atom.arguments) values.push_back(argument.evaluate(binding));
  switch (atom.kind) {
    case Atom::Kind::kMin: return *std::min_element(values.begin(), values.end());
    case Atom::Kind::kMax: return *std::max_element(values.begin(), values.end());
    default: break;
  }
  if (values[1] <= 0) throw TaintError("'" + atom.text + "' divides by " + std::to_string(values[1]));
  return floored(values[0], values[1]);
}

}  // namespace

Expression Expression::floor_div(const Expression& a, const Expression& b) {
  if (const auto divisor = b.constant(); divisor && *divisor <= 0) {
    throw TaintError("(" + a.text() + ") // " + b.text() + ": the divisor must be positive");
  }
  if (const auto exact = a.exact_quotient(b)) return *exact;
  Division parts = pull_out(a, b);
  if (const auto& terms = Parts::terms(parts.rest);
      !b.constant() && !terms.empty() && terms.back().monomial.empty() && terms.back().coefficient < 0) {
    parts = {parts.whole - Expression(1), parts.rest + b};  // one form for (x - 1) // b + 1 and (x + b - 1) // b
  }
  if (parts.rest == Expression(0)) return parts.whole;
  if (const auto rest = parts.rest.constant(); rest && b.constant()) {
    return parts.whole + Expression(floored(*rest, *b.constant()));
  }
  const Expression common = common_content(parts.rest, b);
  return parts.whole + division_atom(*parts.rest.exact_quotient(common), *b.exact_quotient(common));
}

Expression Expression::ceil_div(const Expression& a, const Expression& b) {
  return floor_div(a + b - Expression(1), b);
}

Expression Expression::mod(const Expression& a, const Expression& b) { return a - b * floor_div(a, b); }

Expression Expression::min(const Expression& a, const Expression& b) { return extreme(Atom::Kind::kMin, a, b); }
Expression Expression::max(const Expression& a, const Expression& b) { return extreme(Atom::Kind::kMax, a, b); }

std::int64_t Expression::evaluate(const Binding& binding) const {
  std::int64_t sum = 0;
  for (const Term& term : terms_) {
    std::int64_t product = term.coefficient;
    for (const Factor& factor : term.monomial) {
      const std::int64_t value = atom_value(*factor.atom, binding);
      for (int i = 0; i < factor.power; ++i) product = Parts::checked_product(product, value);
    }
    sum = Parts::checked_sum(sum, product);
  }
  return sum;
}

}  // namespace dooly::profiling
