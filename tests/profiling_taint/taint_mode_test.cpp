#include "profiling_taint/taint_mode.hpp"

#include "profiling_taint/taint_error.hpp"
#include "profiling_taint/tensor_labels.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>
#include <torch/library.h>

namespace dooly::profiling {
namespace {

using at::Tensor;
using c10::SymInt;

Tensor twice_as_wide(const Tensor& x) { return at::cat({x, x}, -1); }
Tensor same_shape(const Tensor& x, const Tensor& /*y*/) { return x.clone(); }
void fill_both(Tensor& x, Tensor& y) {
  x.fill_(1);
  y.fill_(1);
}

TORCH_LIBRARY(dooly_taint_test, library) {
  library.def("twice_as_wide(Tensor x) -> Tensor", &twice_as_wide);
  library.def("same_shape(Tensor x, Tensor y) -> Tensor", &same_shape);
  library.def("fill_both(Tensor(a!) x, Tensor(b!) y) -> ()", &fill_both);
}

template <class Function, class... Arguments>
auto call(const char* name, Function* /*type*/, Arguments&&... arguments) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>().call(
      std::forward<Arguments>(arguments)...);
}

struct Recorder final : OperatorListener {
  void on_operator(const ObservedCall& call) override {
    records.push_back(call.record);
    values.push_back(call.arguments);
  }
  std::vector<OperatorRecord> records;
  std::vector<std::vector<c10::IValue>> values;
};

class Mode : public ::testing::Test {
 protected:
  c10::InferenceMode inference_;
  Recorder recorder_;
};

TEST_F(Mode, IntegersComposeExpressionsThroughArithmetic) {
  TaintMode mode({}, nullptr);
  const SymInt tokens = mode.symbol("tokens", 37, Origin::kRequest), block = mode.symbol("block", 16, Origin::kModel);
  EXPECT_EQ(expression_of((tokens + block - 1) / block)->text(), "ceil(tokens / block)");
  EXPECT_EQ(expression_of(tokens % block)->evaluate(mode.binding()), 5);
  EXPECT_EQ(expression_of(tokens * 2 + 1)->text(), "2*tokens + 1");
  EXPECT_EQ(expression_of(tokens.min(block))->evaluate(mode.binding()), 16);
  EXPECT_EQ(expression_of(SymInt(5)), std::nullopt);
  EXPECT_EQ((tokens - tokens + 3).guard_int(__FILE__, __LINE__), 3);
}

TEST_F(Mode, ComparisonsTakeTheConcreteBranchAndAreRecorded) {
  TaintMode mode({}, nullptr);
  const SymInt tokens = mode.symbol("tokens", 37, Origin::kRequest);
  EXPECT_TRUE(tokens > 16);
  EXPECT_FALSE(tokens == 1);
  EXPECT_FALSE(tokens == 1);
  EXPECT_EQ(tokens.guard_int(__FILE__, __LINE__), 37);
  const std::vector<Concretisation> expected = {{"tokens > 16", 1}, {"tokens == 1", 0}, {"int(tokens)", 37}};
  EXPECT_EQ(mode.concretisations(), expected);
}

TEST_F(Mode, HandingASizeToAnOperatorConcretisesNothing) {
  TaintMode mode({}, nullptr);
  (void)at::zeros_symint({mode.symbol("tokens", 37, Origin::kRequest)});
  EXPECT_TRUE(mode.concretisations().empty());
}

TEST_F(Mode, ASymbolHasOneValue) {
  TaintMode mode({}, nullptr);
  (void)mode.symbol("tokens", 37, Origin::kRequest);
  EXPECT_THROW((void)mode.symbol("tokens", 38, Origin::kRequest), TaintError);
}

TEST_F(Mode, RecordsNamesArgumentsAndLabels) {
  TaintMode mode({}, &recorder_);
  const SymInt tokens = mode.symbol("tokens", 37, Origin::kRequest), width = mode.symbol("width", 8, Origin::kModel);
  const Tensor x = at::zeros_symint({tokens, width}, at::kBFloat16);
  (void)x.narrow_symint(0, 1, tokens - 3);
  ASSERT_EQ(recorder_.records.size(), 2U);
  const OperatorRecord& narrow = recorder_.records[1];
  EXPECT_EQ(narrow.name, "aten::narrow");
  EXPECT_EQ(std::get<TensorRecord>(narrow.find("self")->value).dtype, "BFloat16");
  EXPECT_EQ(std::get<Dim>(narrow.find("length")->value).label->text(), "tokens - 3");
  EXPECT_EQ(std::get<Dim>(narrow.find("start")->value).label, std::nullopt);
  EXPECT_EQ(narrow.outputs[0].dims[0].label->text(), "tokens - 3");
  EXPECT_EQ(recorder_.values[1][3].toInt(), 34);  // what the operator was given
}

TEST_F(Mode, SeesOperatorsWholeAndNotWhatTheyCallInside) {
  TaintMode mode({}, &recorder_);
  const Tensor x = at::zeros_symint({mode.symbol("tokens", 3, Origin::kRequest), SymInt(1)});
  (void)at::linear(x, at::ones({1, 1}));
  EXPECT_EQ(recorder_.records.back().name, "aten::linear");
}

TEST_F(Mode, LabelsStayWithShallowCopies) {
  TaintMode mode({}, nullptr);
  const Tensor x = at::zeros_symint({mode.symbol("tokens", 3, Origin::kRequest)});
  const Tensor copy(x.unsafeGetTensorImpl()->shallow_copy_and_detach(c10::VariableVersion(0), false));
  EXPECT_EQ(labels_of(copy)[0]->text(), "tokens");
}

TEST_F(Mode, InPlaceOperatorsLabelAnew) {
  TaintMode mode({}, nullptr);
  Tensor x = at::zeros_symint({mode.symbol("tokens", 3, Origin::kRequest), mode.symbol("width", 8, Origin::kModel)});
  x.t_();
  EXPECT_EQ(labels_of(x)[0]->text(), "width");
  x.unsqueeze_(0).mul_(2);
  EXPECT_EQ(labels_of(x)[2]->text(), "tokens");
}

TEST_F(Mode, AnUnknownOperatorThatKeepsTheShapeInherits) {
  TaintMode mode({}, nullptr);
  const SymInt tokens = mode.symbol("tokens", 3, Origin::kRequest), other = mode.symbol("other", 3, Origin::kRequest);
  const Tensor x = at::zeros_symint({tokens}), y = at::zeros_symint({other});
  using Same = Tensor(const Tensor&, const Tensor&);
  Same* same = nullptr;
  EXPECT_EQ(labels_of(call("dooly_taint_test::same_shape", same, x, x))[0]->text(), "tokens");
  try {
    (void)call("dooly_taint_test::same_shape", same, x, y);
    FAIL();
  } catch (const TaintError& error) {
    EXPECT_NE(std::string(error.what()).find("tokens (x) or other (y): ambiguous"), std::string::npos) << error.what();
  }
}

TEST_F(Mode, AnUnknownOperatorThatChangesTheShapeIsNamed) {
  TaintMode mode({}, nullptr);
  const Tensor x = at::zeros_symint({mode.symbol("tokens", 3, Origin::kRequest)});
  using Wide = Tensor(const Tensor&);
  Wide* wide = nullptr;
  try {
    (void)call("dooly_taint_test::twice_as_wide", wide, x);
    FAIL();
  } catch (const TaintError& error) {
    EXPECT_STREQ(error.what(),
                 "dooly_taint_test::twice_as_wide: result 0 [?=6] has the shape of no operand, and the "
                 "operator has no rule (operands: x [tokens=3])");
  }
}

TEST_F(Mode, ArgumentsThatAnUnknownOperatorWritesKeepTheirs) {
  TaintMode mode({}, &recorder_);
  Tensor x = at::zeros_symint({mode.symbol("tokens", 3, Origin::kRequest)});
  Tensor y = at::zeros_symint({mode.symbol("other", 3, Origin::kRequest)});
  void (*type)(Tensor&, Tensor&) = nullptr;
  call("dooly_taint_test::fill_both", type, x, y);
  EXPECT_EQ(labels_of(x)[0]->text(), "tokens");
  EXPECT_EQ(labels_of(y)[0]->text(), "other");
  EXPECT_EQ(recorder_.records.back().output_names, (std::vector<std::string>{"x", "y"}));
}

TEST_F(Mode, WithoutMappingRulesDimensionsStayUnlabelled) {
  TaintMode mode({}, nullptr, {.mapping_rules = false});
  const SymInt tokens = mode.symbol("tokens", 3, Origin::kRequest), width = mode.symbol("width", 8, Origin::kModel);
  const Tensor x = at::zeros({3, 8});
  mode.label(x, {expression_of(tokens), expression_of(width)});
  EXPECT_EQ(labels_of(x.mul(2))[1]->text(), "width");
  EXPECT_EQ(labels_of(x.t())[0], std::nullopt);
  EXPECT_EQ(labels_of(at::zeros_symint({tokens}))[0]->text(), "tokens");  // no mapping: this is where labels begin
}

TEST_F(Mode, ALabelThatItsSizeContradictsIsRefused) {
  TaintMode mode({}, nullptr);
  const SymInt tokens = mode.symbol("tokens", 3, Origin::kRequest);
  EXPECT_THROW(mode.label(at::zeros({4}), {expression_of(tokens)}), TaintError);
  EXPECT_THROW(mode.label(at::zeros({3, 3}), {expression_of(tokens)}), TaintError);
}

TEST_F(Mode, UntracedOperatorsPassUnseenAndOneModeAtATime) {
  TaintMode mode({}, &recorder_);
  {
    const Untraced pause;
    const at::Tensor x = at::zeros_symint({mode.symbol("tokens", 3, Origin::kRequest)});
    EXPECT_EQ(x.size(0), 3);
    EXPECT_EQ(labels_of(x)[0], std::nullopt);
  }
  EXPECT_TRUE(recorder_.records.empty());
  EXPECT_THROW(TaintMode({}, nullptr), TaintError);
}

TEST_F(Mode, WhoAsksRunsEachUntracedCall) {
  TaintMode mode({}, &recorder_);
  int calls = 0;
  {
    const Untraced counted([&](const std::function<void()>& call) {
      call();
      ++calls;
    });
    EXPECT_EQ(at::ones({1, 1}).sum().item<float>(), 1.0F);
    const int before = calls;
    const Untraced inner;
    (void)at::ones({1});
    EXPECT_EQ(calls, before);
  }
  EXPECT_GE(calls, 2);  // ones, sum; item as LibTorch makes it
  EXPECT_TRUE(recorder_.records.empty());
}

}  // namespace
}  // namespace dooly::profiling
