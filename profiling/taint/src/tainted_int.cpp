#include "profiling_taint/tainted_int.hpp"

#include "profiling_taint/taint_error.hpp"

#include <c10/core/SymNodeImpl.h>

#include <algorithm>
#include <utility>

namespace dooly::profiling {

namespace {

using c10::SymNode;

thread_local std::vector<Concretisation>* active_log = nullptr;

void note(std::string what, std::int64_t result) {
  if (active_log == nullptr) return;
  Concretisation entry{std::move(what), result};
  if (std::find(active_log->begin(), active_log->end(), entry) == active_log->end()) {
    active_log->push_back(std::move(entry));
  }
}

/// What a comparison of tainted integers decided.
class DecidedBool final : public c10::SymNodeImpl {
 public:
  explicit DecidedBool(bool value) : value_(value) {}
  bool is_int() override { return false; }
  bool is_bool() override { return true; }
  bool is_float() override { return false; }
  bool has_hint() override { return true; }
  bool guard_bool(const char* /*file*/, std::int64_t /*line*/) override { return value_; }
  bool bool_() override { return value_; }
  SymNode clone() override { return made(value_); }
  SymNode wrap_bool(bool value) override { return made(value); }
  SymNode sym_not() override { return made(!value_); }
  SymNode sym_and(const SymNode& other) override { return made(value_ && other->guard_bool("", 0)); }
  SymNode sym_or(const SymNode& other) override { return made(value_ || other->guard_bool("", 0)); }
  std::optional<bool> constant_bool() override { return value_; }
  std::string str() override { return value_ ? "true" : "false"; }
  static SymNode made(bool value) { return c10::make_intrusive<DecidedBool>(value); }

 private:
  bool value_;
};

class TaintedNode final : public c10::SymNodeImpl {
 public:
  TaintedNode(std::int64_t value, Expression expression) : value_(value), expression_(std::move(expression)) {}

  const Expression& expression() const { return expression_; }
  std::int64_t value() const { return value_; }

  bool is_int() override { return true; }
  bool is_bool() override { return false; }
  bool is_float() override { return false; }
  bool has_hint() override { return true; }
  std::string str() override { return expression_.text() + "=" + std::to_string(value_); }

  SymNode clone() override { return made(value_, expression_); }
  SymNode wrap_int(std::int64_t number) override { return made(number, Expression(number)); }
  SymNode wrap_bool(bool value) override { return DecidedBool::made(value); }
  SymNode add(const SymNode& o) override { return made(value_ + of(o), expression_ + form(o)); }
  SymNode sub(const SymNode& o) override { return made(value_ - of(o), expression_ - form(o)); }
  SymNode mul(const SymNode& o) override { return made(value_ * of(o), expression_ * form(o)); }
  SymNode neg() override { return made(-value_, Expression(-1) * expression_); }
  SymNode floordiv(const SymNode& o) override { return divided(of(o), Expression::floor_div(expression_, form(o))); }
  SymNode mod(const SymNode& o) override {
    const std::int64_t divisor = of(o);
    return made(value_ - divisor * floored(divisor), Expression::mod(expression_, form(o)));
  }
  SymNode sym_min(const SymNode& o) override {
    return made(std::min(value_, of(o)), Expression::min(expression_, form(o)));
  }
  SymNode sym_max(const SymNode& o) override {
    return made(std::max(value_, of(o)), Expression::max(expression_, form(o)));
  }
  SymNode eq(const SymNode& o) override { return decided("==", o, value_ == of(o)); }
  SymNode ne(const SymNode& o) override { return decided("!=", o, value_ != of(o)); }
  SymNode lt(const SymNode& o) override { return decided("<", o, value_ < of(o)); }
  SymNode le(const SymNode& o) override { return decided("<=", o, value_ <= of(o)); }
  SymNode gt(const SymNode& o) override { return decided(">", o, value_ > of(o)); }
  SymNode ge(const SymNode& o) override { return decided(">=", o, value_ >= of(o)); }
  std::int64_t guard_int(const char* /*file*/, std::int64_t /*line*/) override {
    note("int(" + expression_.text() + ")", value_);
    return value_;
  }
  std::int64_t int_() override { return guard_int("", 0); }

  static SymNode made(std::int64_t value, Expression expression) {
    return c10::make_intrusive<TaintedNode>(value, std::move(expression));
  }

 private:
  static std::int64_t of(const SymNode& other) {
    const auto* tainted = dynamic_cast<const TaintedNode*>(other.get());
    return tainted != nullptr ? tainted->value_ : other->guard_int("", 0);
  }
  static Expression form(const SymNode& other) {
    const auto* tainted = dynamic_cast<const TaintedNode*>(other.get());
    return tainted != nullptr ? tainted->expression_ : Expression(other->guard_int("", 0));
  }
  std::int64_t floored(std::int64_t divisor) const {
    if (divisor <= 0) throw TaintError(expression_.text() + " divided by " + std::to_string(divisor));
    const std::int64_t quotient = value_ / divisor;
    return value_ % divisor < 0 ? quotient - 1 : quotient;
  }
  SymNode divided(std::int64_t divisor, Expression quotient) const {
    return made(floored(divisor), std::move(quotient));
  }
  SymNode decided(const char* relation, const SymNode& other, bool result) const {
    note(expression_.text() + " " + relation + " " + form(other).text(), result ? 1 : 0);
    return DecidedBool::made(result);
  }

  std::int64_t value_;
  Expression expression_;
};

}  // namespace

c10::SymInt tainted_int(std::int64_t value, const Expression& expression) {
  if (expression.constant()) return c10::SymInt(value);
  return c10::SymInt(TaintedNode::made(value, expression));
}

std::optional<Expression> expression_of(const c10::SymInt& integer) {
  if (!integer.is_heap_allocated()) return std::nullopt;
  const c10::SymNode node = integer.toSymNode();
  const auto* tainted = dynamic_cast<const TaintedNode*>(node.get());
  if (tainted == nullptr) {
    if (integer.maybe_as_int()) return std::nullopt;  // a large plain integer
    throw TaintError("a symbolic integer of another tracer: " + node->str());
  }
  return tainted->expression();
}

ConcretisationLog::ConcretisationLog(std::vector<Concretisation>& log) : before_(std::exchange(active_log, &log)) {}
ConcretisationLog::~ConcretisationLog() { active_log = before_; }

}  // namespace dooly::profiling
