#include "profiling_taint/expression.hpp"

#include "expression_parts.hpp"
#include "profiling_taint/taint_error.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace dooly::profiling {

using Parts = ExpressionParts;

Expression::Expression(std::int64_t constant) {
  if (constant != 0) terms_.push_back({{}, constant});
}

Expression Expression::symbol(std::string_view name, Origin origin) {
  const bool valid = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.';
  });
  if (!valid) throw TaintError("'" + std::string(name) + "' is no name of a symbol: letters, digits, '_' and '.'");
  return Parts::of_atom({Atom::Kind::kSymbol, std::string(name), origin, {}});
}

Expression operator+(const Expression& a, const Expression& b) {
  std::vector<Parts::Term> all = a.terms_;
  all.insert(all.end(), b.terms_.begin(), b.terms_.end());
  return Parts::normal(std::move(all));
}

Expression operator-(const Expression& a, const Expression& b) { return a + Expression(-1) * b; }

Expression operator*(const Expression& a, const Expression& b) {
  std::vector<Parts::Term> all;
  for (const auto& x : a.terms_)
    for (const auto& y : b.terms_)
      all.push_back({Parts::product(x.monomial, y.monomial), Parts::checked_product(x.coefficient, y.coefficient)});
  return Parts::normal(std::move(all));
}

bool operator==(const Expression& a, const Expression& b) {
  return std::equal(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(),
                    [](const Parts::Term& x, const Parts::Term& y) {
                      return x.coefficient == y.coefficient && std::is_eq(Parts::compare(x.monomial, y.monomial));
                    });
}

std::optional<Expression> Expression::exact_quotient(const Expression& divisor) const {
  if (divisor.terms_.empty()) return std::nullopt;
  const Term& lead = divisor.terms_.front();
  Expression rest = *this, result;
  while (!rest.terms_.empty()) {
    const Term& first = rest.terms_.front();
    const auto monomial = Parts::quotient(first.monomial, lead.monomial);
    if (!monomial || first.coefficient % lead.coefficient != 0) return std::nullopt;
    const Expression step = Parts::of_term({*monomial, first.coefficient / lead.coefficient});
    result = result + step;
    rest = rest - step * divisor;
  }
  return result;
}

std::optional<std::int64_t> Expression::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.front().monomial.empty()) return terms_.front().coefficient;
  return std::nullopt;
}

std::set<std::string> Expression::symbols() const {
  std::set<std::string> names;
  for (const Term& term : terms_)
    for (const Factor& factor : term.monomial) {
      if (factor.atom->kind == Atom::Kind::kSymbol) names.insert(factor.atom->text);
      for (const Expression& argument : factor.atom->arguments) names.merge(argument.symbols());
    }
  return names;
}

bool Expression::is_request_driven() const {
  for (const Term& term : terms_)
    for (const Factor& factor : term.monomial) {
      const Atom& atom = *factor.atom;
      if (atom.kind == Atom::Kind::kSymbol && atom.origin == Origin::kRequest) return true;
      if (std::any_of(atom.arguments.begin(), atom.arguments.end(),
                      [](const Expression& argument) { return argument.is_request_driven(); })) {
        return true;
      }
    }
  return false;
}

std::vector<Expression> Expression::factors() const {
  if (terms_.empty()) return {Expression(0)};
  std::vector<Expression> all;
  Term common = Parts::content(*this);
  const Expression rest = *exact_quotient(Parts::of_term(common));
  for (std::int64_t prime = 2, left = common.coefficient; left > 1; ++prime) {
    if (prime * prime > left) prime = left;
    for (; left % prime == 0; left /= prime) all.emplace_back(prime);
  }
  for (const Factor& factor : common.monomial)
    for (int i = 0; i < factor.power; ++i) all.push_back(Parts::of_term({{{factor.atom, 1}}, 1}));
  if (rest != Expression(1) || all.empty()) all.push_back(rest);
  return all;
}

std::vector<Expression> Expression::unit_terms() const {
  constexpr std::int64_t kLongest = 64;  // larger multiples are not taken apart
  std::vector<Expression> all;
  for (const Term& term : terms_) {
    const bool unroll = term.coefficient > 0 && term.coefficient <= kLongest && !term.monomial.empty();
    const Expression one = Parts::of_term({term.monomial, unroll ? 1 : term.coefficient});
    all.insert(all.end(), unroll ? static_cast<std::size_t>(term.coefficient) : 1, one);
  }
  return all;
}

std::string Expression::text() const {
  if (terms_.empty()) return "0";
  std::string all;
  for (const Term& term : terms_) {
    const bool negative = term.coefficient < 0;
    all += all.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const std::string size = std::to_string(term.coefficient).substr(negative ? 1 : 0);
    std::string product = size == "1" && !term.monomial.empty() ? "" : size;
    for (const Factor& factor : term.monomial)
      for (int i = 0; i < factor.power; ++i) product += (product.empty() ? "" : "*") + factor.atom->text;
    all += product;
  }
  return all;
}

}  // namespace dooly::profiling
