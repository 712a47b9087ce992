#include "profiling_taint/expression.hpp"

#include "profiling_taint/taint_error.hpp"

#include <gtest/gtest.h>

namespace dooly::profiling {
namespace {

const Expression kTokens = Expression::symbol("num_tokens", Origin::kRequest);
const Expression kHeads = Expression::symbol("num_heads", Origin::kModel);
const Expression kKvHeads = Expression::symbol("num_kv_heads", Origin::kModel);
const Expression kDim = Expression::symbol("head_dim", Origin::kModel);

TEST(Expression, NormalFormForgetsHowItWasWritten) {
  EXPECT_EQ((kHeads + Expression(2) * kKvHeads) * kDim, kDim * kHeads + kKvHeads * kDim + kDim * kKvHeads);
  EXPECT_NE(kHeads * kDim, kHeads + kDim);
  EXPECT_EQ(kTokens - kTokens, Expression(0));
}

TEST(Expression, PrintsSumsOfProducts) {
  EXPECT_EQ(((kHeads + Expression(2) * kKvHeads) * kDim).text(), "head_dim*num_heads + 2*head_dim*num_kv_heads");
  EXPECT_EQ((kTokens - Expression(3)).text(), "num_tokens - 3");
  EXPECT_EQ((Expression(-1) * kTokens).text(), "-num_tokens");
  EXPECT_EQ(Expression(0).text(), "0");
}

TEST(Expression, DividesExactlyWherePolynomialsDo) {
  const Expression qkv = (kHeads + Expression(2) * kKvHeads) * kDim;
  EXPECT_EQ(qkv.exact_quotient(kDim), kHeads + Expression(2) * kKvHeads);
  EXPECT_EQ(qkv.exact_quotient(kHeads + Expression(2) * kKvHeads), kDim);
  EXPECT_EQ(qkv.exact_quotient(kHeads), std::nullopt);
  EXPECT_EQ(Expression(6).exact_quotient(Expression(4)), std::nullopt);
}

TEST(Expression, FloorDivisionPullsOutWhatIsWhole) {
  EXPECT_EQ(Expression::floor_div(Expression(6) * kHeads, Expression(3)), Expression(2) * kHeads);
  EXPECT_EQ(Expression::floor_div(kTokens + Expression(17), Expression(16)),
            Expression(1) + Expression::floor_div(kTokens + Expression(1), Expression(16)));
  EXPECT_EQ(Expression::floor_div(Expression(2) * kTokens, Expression(2) * kHeads),
            Expression::floor_div(kTokens, kHeads));
  EXPECT_EQ(Expression::floor_div(Expression::floor_div(kTokens, kHeads), kDim),
            Expression::floor_div(kTokens, kHeads * kDim));
  EXPECT_EQ(Expression::floor_div(Expression(-7), Expression(2)), Expression(-4));
  EXPECT_THROW(Expression::floor_div(kTokens, Expression(0)), TaintError);
}

TEST(Expression, RemainderAndQuotientMakeTheWholeAgain) {
  const Expression quotient = Expression::floor_div(kTokens, kDim);
  EXPECT_EQ(quotient * kDim + Expression::mod(kTokens, kDim), kTokens);
}

TEST(Expression, CeilingHasTheFormOfItsFloor) {
  const Expression blocks = Expression::ceil_div(kTokens, Expression(16));
  EXPECT_EQ(blocks, Expression::floor_div(kTokens + Expression(15), Expression(16)));
  EXPECT_EQ(Expression::ceil_div(kTokens, kDim).text(), "ceil(num_tokens / head_dim)");
  EXPECT_EQ(blocks.evaluate({{"num_tokens", 33}}), 3);
}

TEST(Expression, ExtremesDropWhatAlwaysLoses) {
  EXPECT_EQ(Expression::min(kHeads, kHeads + kKvHeads), kHeads);
  EXPECT_EQ(Expression::max(kHeads, kHeads), kHeads);
  EXPECT_EQ(Expression::min(Expression(3), Expression(5)), Expression(3));
  EXPECT_EQ(Expression::min(kTokens, Expression::min(kDim, kHeads)),
            Expression::min(Expression::min(kHeads, kTokens), kDim));
  EXPECT_EQ(Expression::max(kTokens, kDim).evaluate({{"num_tokens", 7}, {"head_dim", 5}}), 7);
}

TEST(Expression, EvaluatesUnderABindingAndNamesWhatIsMissing) {
  const Expression e = kTokens * kDim + Expression::floor_div(kTokens, Expression(4));
  EXPECT_EQ(e.evaluate({{"num_tokens", 9}, {"head_dim", 10}}), 92);
  try {
    (void)e.evaluate({{"num_tokens", 9}});
    FAIL();
  } catch (const TaintError& error) {
    EXPECT_STREQ(error.what(), "symbol 'head_dim' has no value");
  }
}

TEST(Expression, OverflowIsAnError) {
  EXPECT_THROW((kTokens * kTokens).evaluate({{"num_tokens", std::int64_t{1} << 40}}), TaintError);
}

TEST(Expression, KnowsWhoDecidesIt) {
  EXPECT_TRUE(Expression::floor_div(kHeads + kTokens, kDim).is_request_driven());
  EXPECT_FALSE((kHeads * kDim).is_request_driven());
  EXPECT_EQ((kHeads * kDim + Expression::floor_div(kTokens, kDim)).symbols(),
            (std::set<std::string>{"head_dim", "num_heads", "num_tokens"}));
}

TEST(Expression, FactorsMultiplyAndUnitTermsAddUp) {
  const Expression e = Expression(12) * kDim * (kHeads + kKvHeads);
  Expression product(1);
  for (const Expression& factor : e.factors()) product = product * factor;
  EXPECT_EQ(product, e);
  EXPECT_EQ(e.factors().size(), 5U);  // 2, 2, 3, head_dim, the sum
  Expression sum;
  for (const Expression& term : (kHeads + Expression(2) * kKvHeads).unit_terms()) sum = sum + term;
  EXPECT_EQ(sum, kHeads + Expression(2) * kKvHeads);
  EXPECT_EQ((kHeads + Expression(2) * kKvHeads).unit_terms().size(), 3U);
}

TEST(Expression, SymbolsHaveNames) { EXPECT_THROW(Expression::symbol("a b", Origin::kModel), TaintError); }

}  // namespace
}  // namespace dooly::profiling
