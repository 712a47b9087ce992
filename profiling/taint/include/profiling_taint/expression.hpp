#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::profiling {

/// Who decides a symbol's value.
enum class Origin : std::uint8_t { kModel, kRequest };

/// Values of symbols.
using Binding = std::map<std::string, std::int64_t, std::less<>>;

struct Atom;  // a symbol, or an operation that polynomials cannot express

/// An exact integer expression over named symbols, kept in normal form: a polynomial with integer coefficients whose
/// unknowns are symbols and those of `floor_div`, `min`, `max` that do not cancel. Two expressions are equal if their
/// normal forms are; `mod` and `ceil_div` are written by floor_div, so that a = (a // b)*b + a mod b holds by form.
/// Symbols are sizes: never negative. Immutable; copies share what is large.
class Expression {
 public:
  Expression() = default;                 ///< 0
  Expression(std::int64_t constant);      // NOLINT(google-explicit-constructor): integers are expressions
  /// `name` is an identifier (letters, digits, `_`, `.`). Throws TaintError else.
  static Expression symbol(std::string_view name, Origin origin);

  friend Expression operator+(const Expression& a, const Expression& b);
  friend Expression operator-(const Expression& a, const Expression& b);
  friend Expression operator*(const Expression& a, const Expression& b);
  friend bool operator==(const Expression& a, const Expression& b);

  /// ⌊a / b⌋ and ⌈a / b⌉ for b > 0. Throw TaintError if b is a constant that is not positive.
  static Expression floor_div(const Expression& a, const Expression& b);
  static Expression ceil_div(const Expression& a, const Expression& b);
  static Expression mod(const Expression& a, const Expression& b);
  static Expression min(const Expression& a, const Expression& b);
  static Expression max(const Expression& a, const Expression& b);

  /// q with q*divisor = this as polynomials; nothing if there is none.
  std::optional<Expression> exact_quotient(const Expression& divisor) const;
  std::optional<std::int64_t> constant() const;  ///< its value if no symbol occurs
  /// Throws TaintError naming a symbol that `binding` lacks, or on overflow.
  std::int64_t evaluate(const Binding& binding) const;
  std::set<std::string> symbols() const;
  bool is_request_driven() const;  ///< a symbol of Origin::kRequest occurs

  /// Factors whose product is this: primes of the common coefficient, atoms common to all terms, what remains.
  std::vector<Expression> factors() const;
  /// Terms whose sum is this, each with coefficient 1 (or the whole negative term).
  std::vector<Expression> unit_terms() const;
  /// For people: "2*head_dim*num_heads + 1", "(num_tokens // block_size)", "ceil(num_tokens / 16)".
  std::string text() const;

 private:
  struct Factor {
    std::shared_ptr<const Atom> atom;
    int power = 1;
  };
  using Monomial = std::vector<Factor>;  // by atom's text
  struct Term {
    Monomial monomial;
    std::int64_t coefficient = 0;
  };
  friend struct ExpressionParts;  // the arithmetic, in the sources

  std::vector<Term> terms_;  // by graded lexical order of monomials, largest first; no zero coefficients
};

}  // namespace dooly::profiling
