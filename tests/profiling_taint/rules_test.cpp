#include "profiling_taint/rule_table.hpp"

#include "profiling_taint/taint_error.hpp"
#include "profiling_taint/taint_mode.hpp"
#include "profiling_taint/tensor_labels.hpp"

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace dooly::profiling {
namespace {

using at::Tensor;
using c10::SymInt;

/// Labels as text: "T, D*N; T" for two tensors.
std::string text(const std::vector<Tensor>& tensors) {
  std::string all;
  for (const Tensor& tensor : tensors) {
    if (&tensor != &tensors.front()) all += "; ";
    const Labels labels = labels_of(tensor);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      all += (i == 0 ? "" : ", ") + (labels[i] ? labels[i]->text() : "?");
    }
  }
  return all;
}

std::vector<Tensor> both(const std::tuple<Tensor, Tensor>& pair) { return {std::get<0>(pair), std::get<1>(pair)}; }

/// A small model's sizes, all different, and tensors that carry them.
struct Sizes {
  TaintMode& mode;
  SymInt T = mode.symbol("T", 7, Origin::kRequest);   // tokens
  SymInt R = mode.symbol("R", 3, Origin::kRequest);   // requests
  SymInt N = mode.symbol("N", 6, Origin::kModel);     // heads
  SymInt K = mode.symbol("K", 2, Origin::kModel);     // KV heads
  SymInt D = mode.symbol("D", 5, Origin::kModel);     // head size
  SymInt I = mode.symbol("I", 11, Origin::kModel);    // MLP width
  SymInt E = mode.symbol("E", 4, Origin::kModel);     // experts
  Tensor q = make({T, N* D}), k = make({T, K* D}), qkv = make({T, (N + K * 2) * D}), heads = make({T, N, D});
  Tensor x = make({T, I}), row = make({I}), one = make({T, 1});
  Tensor ids = at::zeros_symint({R}, at::kLong), table = at::zeros_symint({R, T}, at::kLong);

  Tensor make(std::vector<SymInt> sizes) const { return at::zeros_symint(sizes); }
};

struct Case {
  friend void PrintTo(const Case& one, std::ostream* out) { *out << one.operators; }
  std::string operators;  ///< what this is a test of
  std::function<std::vector<Tensor>(const Sizes&)> run;
  std::string expected;
};

using S = const Sizes&;
using V = std::vector<Tensor>;

const std::vector<Case>& factory_cases() {
  static const std::vector<Case> all = {
      {"aten::empty",
       [](S s) -> V {
         return {at::empty_symint({s.T, s.N * s.D})};
       },
       "T, D*N"},
      {"aten::zeros",
       [](S s) -> V {
         return {at::zeros_symint({s.T + 1, SymInt(1), SymInt(9)})};
       },
       "T + 1, 1, ?"},
      {"aten::full", [](S s) -> V { return {at::full_symint({s.R}, 2.0)}; }, "R"},
      {"aten::new_empty",
       [](S s) -> V {
         return {s.x.new_empty_symint({s.R, s.D})};
       },
       "R, D"},
      {"aten::empty_like", [](S s) -> V { return {at::empty_like(s.heads)}; }, "T, N, D"},
      {"aten::arange", [](S s) -> V { return {at::arange(at::Scalar(s.T))}; }, "T"},
      {"aten::arange", [](S s) -> V { return {at::arange(at::Scalar(s.R), at::Scalar(s.T))}; }, "-R + T"},
      {"aten::arange", [](S s) -> V { return {at::arange(0, at::Scalar(s.T), at::Scalar(s.K))}; }, "ceil(T / K)"},
      {"aten::dot", [](S s) -> V { return {at::dot(s.row, s.row)}; }, ""},
      {"aten::nonzero",
       [](S s) -> V {
         return {at::nonzero(at::ones_symint({s.R, s.D}))};
       },
       "?, 2"},
  };
  return all;
}

const std::vector<Case>& shape_cases() {
  static const std::vector<Case> all = {
      {"aten::view",
       [](S s) -> V {
         return {s.q.view_symint({s.T, s.N, s.D})};
       },
       "T, N, D"},
      {"aten::view",
       [](S s) -> V {
         return {s.qkv.view_symint({s.T, SymInt(-1), s.D})};
       },
       "T, 2*K + N, D"},
      {"aten::view",
       [](S s) -> V {
         return {s.heads.view({7, 30})};
       },
       "T, D*N"},
      {"aten::view",
       [](S s) -> V {
         return {s.q.view({7, 6, 5})};
       },
       "T, N, D"},  // by the factors of D*N
      {"aten::view",
       [](S s) -> V {
         return {s.q.view({1, 7, 30, 1})};
       },
       "1, T, D*N, 1"},
      {"aten::view", [](S s) -> V { return {s.q.view({-1})}; }, "D*N*T"},
      {"aten::view",
       [](S s) -> V {
         return {s.q.view({7, 2, 15})};
       },
       "T, ?, ?"},  // nobody knows a 2 and a 15
      {"aten::reshape",
       [](S s) -> V {
         return {s.heads.transpose(0, 1).reshape_symint({s.N, s.T * s.D})};
       },
       "N, D*T"},
      {"aten::flatten", [](S s) -> V { return {s.heads.flatten(1)}; }, "T, D*N"},
      {"aten::unflatten",
       [](S s) -> V {
         return {s.q.unflatten_symint(1, {s.N, SymInt(-1)})};
       },
       "T, N, D"},
      {"aten::view_as", [](S s) -> V { return {s.q.view_as(s.heads)}; }, "T, N, D"},
      {"aten::view.dtype", [](S s) -> V { return {s.x.view(at::kChar)}; }, "T, 4*I"},
      {"aten::transpose", [](S s) -> V { return {s.heads.transpose(0, -1)}; }, "D, N, T"},
      {"aten::t", [](S s) -> V { return {s.x.t()}; }, "I, T"},
      {"aten::mT", [](S s) -> V { return {s.heads.mT()}; }, "T, D, N"},
      {"aten::permute",
       [](S s) -> V {
         return {s.heads.permute({1, 2, 0})};
       },
       "N, D, T"},
      {"aten::movedim", [](S s) -> V { return {s.heads.movedim(0, 2)}; }, "N, D, T"},
      {"aten::movedim",
       [](S s) -> V {
         return {s.heads.movedim({2, 0}, {0, 1})};
       },
       "D, T, N"},
      {"aten::squeeze",
       [](S s) -> V {
         return {s.one.squeeze(), s.one.squeeze(1), s.one.squeeze(0)};
       },
       "T; T; T, 1"},
      {"aten::unsqueeze",
       [](S s) -> V {
         return {s.x.unsqueeze(-1), s.x.unsqueeze(0)};
       },
       "T, I, 1; 1, T, I"},
      {"aten::expand",
       [](S s) -> V {
         return {s.one.expand_symint({s.R, SymInt(-1), s.D})};
       },
       "R, T, D"},
      {"aten::expand_as", [](S s) -> V { return {s.one.expand_as(s.x)}; }, "T, I"},
      {"aten::repeat",
       [](S s) -> V {
         return {s.x.repeat_symint({s.R, SymInt(1), s.K})};
       },
       "R, T, I*K"},
      {"aten::repeat_interleave", [](S s) -> V { return {at::repeat_interleave_symint(s.x, s.E, 1)}; }, "T, E*I"},
      {"aten::pad",
       [](S s) -> V {
         return {at::pad_symint(s.x, {SymInt(0), s.R})};
       },
       "T, I + R"},
  };
  return all;
}

const std::vector<Case>& split_cases() {
  static const std::vector<Case> all = {
      {"aten::split",
       [](S s) {
         return s.qkv.split_with_sizes_symint({s.N * s.D, s.K * s.D, s.K * s.D}, -1);
       },
       "T, D*N; T, D*K; T, D*K"},
      {"aten::split_with_sizes",
       [](S s) {
         return s.qkv.split_with_sizes({30, 10, 10}, 1);
       },  // by its terms
       "T, D*N; T, D*K; T, D*K"},
      {"aten::split", [](S s) { return s.x.split_symint(s.R, 0); }, "R, I; R, I; -2*R + T, I"},
      {"aten::split",
       [](S s) {
         return s.make({s.T, s.I * 2}).split(11, 1);
       },
       "T, I; T, I"},
      {"aten::chunk",
       [](S s) {
         return s.make({s.T, s.I * 2}).chunk(2, -1);
       },
       "T, I; T, I"},
      {"aten::chunk", [](S s) { return s.x.chunk(2, 0); }, "ceil(T / 2), I; T - ceil(T / 2), I"},
      {"aten::glu",
       [](S s) -> V {
         return {at::glu(s.make({s.T, s.I * 2}))};
       },
       "T, I"},
      {"aten::narrow",
       [](S s) -> V {
         return {s.qkv.narrow_symint(1, 0, s.N * s.D), s.qkv.narrow(1, 0, 30)};
       },
       "T, D*N; T, D*N"},
      {"aten::narrow", [](S s) -> V { return {s.x.narrow(0, 0, 4)}; }, "?, I"},  // no origin for a 4
      {"aten::slice",
       [](S s) -> V {
         return {s.x.slice(0, 1), s.x.slice(0, 0, -1), s.x.slice_symint(0, 0, s.R)};
       },
       "T - 1, I; T - 1, I; R, I"},
      {"aten::slice",
       [](S s) -> V {
         return {s.x.slice(0, 0, std::nullopt, 2), s.x.slice(1)};
       },
       "ceil(T / 2), I; T, I"},
      {"aten::select", [](S s) -> V { return {s.heads.select(1, 0)}; }, "T, D"},
      {"aten::unbind", [](S s) { return s.heads.unbind(1); }, "T, D; T, D; T, D; T, D; T, D; T, D"},
      {"aten::cat",
       [](S s) -> V {
         return {at::cat({s.q, s.k, s.k}, 1), at::cat({s.x, s.x}, 0)};
       },
       "T, 2*D*K + D*N; 2*T, I"},
      {"aten::stack",
       [](S s) -> V {
         return {at::stack({s.x, s.x}, 1)};
       },
       "T, 2, I"},
  };
  return all;
}

const std::vector<Case>& index_cases() {
  static const std::vector<Case> all = {
      {"aten::gather", [](S s) -> V { return {s.x.gather(0, s.table)}; }, "R, T"},
      {"aten::index_select", [](S s) -> V { return {s.x.index_select(0, s.ids)}; }, "R, I"},
      {"aten::index",
       [](S s) -> V {
         return {at::index(s.x, {s.ids}), at::index(s.heads, {std::nullopt, s.ids})};
       },
       "R, I; T, R, D"},
      {"aten::index",
       [](S s) -> V {
         return {at::index(s.x, {s.table, s.ids.unsqueeze(1)})};
       },
       "R, T"},
      {"aten::index",
       [](S s) -> V {
         return {at::index(s.heads, {s.ids, std::nullopt, s.ids})};
       },
       "R, N"},
      {"aten::index", [](S s) -> V { return {at::index(s.x, {s.row.new_ones_symint({s.T}, at::kBool)})}; }, "?, I"},
      {"aten::embedding", [](S s) -> V { return {at::embedding(s.x, s.table)}; }, "R, T, I"},
      {"aten::topk", [](S s) { return both(at::topk_symint(s.x, s.K)); }, "T, K; T, K"},
      {"aten::sort", [](S s) { return both(at::sort(s.x)); }, "T, I; T, I"},
      {"aten::scatter", [](S s) -> V { return {s.x.scatter(0, s.table, 1.0)}; }, "T, I"},
      {"aten::index_put",
       [](S s) -> V {
         return {at::index_put(s.x, {s.ids}, at::zeros_symint({s.R, s.I}))};
       },
       "T, I"},
      {"aten::cumsum", [](S s) -> V { return {at::cumsum(s.x, 0)}; }, "T, I"},
      {"aten::bucketize", [](S s) -> V { return {at::bucketize(s.x, s.row)}; }, "T, I"},
      {"aten::searchsorted", [](S s) -> V { return {at::searchsorted(s.row, s.x)}; }, "T, I"},
  };
  return all;
}

const std::vector<Case>& compute_cases() {
  static const std::vector<Case> all = {
      {"aten::linear",
       [](S s) -> V {
         return {at::linear(s.x, s.make({s.N * s.D, s.I}))};
       },
       "T, D*N"},
      {"aten::matmul",
       [](S s) -> V {
         return {at::matmul(s.x, s.make({s.I, s.D})), at::matmul(s.x, s.row)};
       },
       "T, D; T"},
      {"aten::matmul",
       [](S s) -> V {
         return {at::matmul(s.heads, s.make({s.D, s.I}))};
       },
       "T, N, I"},
      {"aten::mm",
       [](S s) -> V {
         return {at::mm(s.x, s.make({s.I, s.D}))};
       },
       "T, D"},
      {"aten::bmm",
       [](S s) -> V {
         return {at::bmm(s.heads, s.make({s.T, s.D, s.E}))};
       },
       "T, N, E"},
      {"aten::addmm",
       [](S s) -> V {
         return {at::addmm(s.make({s.D}), s.x, s.make({s.I, s.D}))};
       },
       "T, D"},
      {"aten::einsum",
       [](S s) -> V {
         return {at::einsum("tnd,td->nt", {s.heads, s.make({s.T, s.D})})};
       },
       "N, T"},
      {"aten::scaled_dot_product_attention",
       [](S s) -> V {
         const Tensor k = s.make({SymInt(1), s.N, s.R, s.D});
         const Tensor q = s.heads.transpose(0, 1).unsqueeze(0);
         return {at::scaled_dot_product_attention(q, k, s.make({SymInt(1), s.N, s.R, s.I}))};
       },
       "1, N, T, I"},
      {"aten::softmax", [](S s) -> V { return {at::softmax(s.x, -1)}; }, "T, I"},
      {"aten::layer_norm", [](S s) -> V { return {at::layer_norm_symint(s.x, {s.I})}; }, "T, I"},
      {"aten::native_layer_norm",
       [](S s) -> V {
         const auto results = at::native_layer_norm_symint(s.x, {s.I}, {}, {}, 1e-5);
         return {std::get<0>(results), std::get<1>(results)};
       },
       "T, I; T, 1"},
      {"aten::mean",
       [](S s) -> V {
         return {s.x.mean(-1, true), s.x.mean(at::IntArrayRef({0, 1})), s.x.mean()};
       },
       "T, 1; ; "},
      {"aten::argmax", [](S s) -> V { return {s.x.argmax(-1)}; }, "T"},
      {"aten::max", [](S s) { return both(s.heads.max(1)); }, "T, D; T, D"},
      {"aten::add",
       [](S s) -> V {
         return {s.x + s.row, s.one * s.row, s.x + 1.0, s.x + s.one};
       },
       "T, I; T, I; T, I; T, I"},
      {"aten::where", [](S s) -> V { return {at::where(s.one > 0, s.x, s.row)}; }, "T, I"},
      {"aten::copy",
       [](S s) -> V {
         return {at::empty_symint({s.T, s.I}).copy_(s.row)};
       },
       "T, I"},
      {"aten::to",
       [](S s) -> V {
         return {s.x.to(at::kHalf), s.x.t().contiguous(), s.x.clone()};
       },
       "T, I; I, T; T, I"},
      {"aten::max.other", [](S s) -> V { return {at::max(s.x, s.row)}; }, "T, I"},
  };
  return all;
}

std::vector<Case> all_cases() {
  std::vector<Case> all;
  for (const auto* cases : {&factory_cases(), &shape_cases(), &split_cases(), &index_cases(), &compute_cases()}) {
    all.insert(all.end(), cases->begin(), cases->end());
  }
  return all;
}

class EveryRule : public ::testing::TestWithParam<Case> {
 protected:
  c10::InferenceMode inference_;
  TaintMode mode_{{}, nullptr};
  Sizes sizes_{mode_};
};

TEST_P(EveryRule, LabelsWhatItShouldAndNothingElse) { EXPECT_EQ(text(GetParam().run(sizes_)), GetParam().expected); }

INSTANTIATE_TEST_SUITE_P(Operators, EveryRule, ::testing::ValuesIn(all_cases()), [](const auto& case_info) {
  std::string name = std::to_string(case_info.index) + "_" + case_info.param.operators;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
});

class RuleErrors : public EveryRule {
 protected:
  template <class Run>
  std::string message(const Run& run) const {
    try {
      (void)run();
    } catch (const TaintError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(RuleErrors, AmbiguityNamesBothCandidates) {
  const SymInt other = mode_.symbol("S", 7, Origin::kRequest);
  const std::string found = message([&] { return sizes_.x + at::zeros_symint({other, sizes_.I}); });
  EXPECT_EQ(found,
            "aten::add.Tensor: dimension 0 of the result is T (self) or S (other): ambiguous (operands: self "
            "[T=7, I=11], other [S=7, I=11])");
}

TEST_F(RuleErrors, PlainSizesThatFitTwoWaysAreAmbiguous) {
  const SymInt other = mode_.symbol("M", 6, Origin::kModel);
  const Tensor square = at::zeros_symint({sizes_.T, sizes_.N * other});
  EXPECT_NE(message([&] {
              return square.view({7, 6, 6});
            }).find("a part of size 6 is M or N: ambiguous"),
            std::string::npos);
  EXPECT_EQ(text({square.view_symint({sizes_.T, sizes_.N, SymInt(-1)})}), "T, N, M");
  const Tensor sum = at::zeros_symint({sizes_.T, sizes_.N + other});
  EXPECT_NE(message([&] { return sum.split_with_sizes({6, 6}, 1); }).find("M or N"), std::string::npos);
}

TEST_F(RuleErrors, ContractedDimensionsMustAgree) {
  const SymInt other = mode_.symbol("J", 11, Origin::kModel);
  EXPECT_NE(message([&] {
              return at::linear(sizes_.x, at::zeros_symint({sizes_.D, other}));
            }).find("the contracted dimension is I (input) or J (weight)"),
            std::string::npos);
}

TEST_F(RuleErrors, ARequestIsNotDividedByTheModel) {
  const Tensor flat = at::zeros_symint({sizes_.T * sizes_.N});
  EXPECT_EQ(text({flat.view_symint({sizes_.T, SymInt(-1)})}), "T, N");
  EXPECT_NE(message([&] {
              return flat.view_symint({sizes_.K, SymInt(-1)});
            }).find("K does not divide N*T exactly"),
            std::string::npos);
  // Sizes of the model alone divide by value.
  EXPECT_EQ(text({at::zeros_symint({sizes_.N}).view_symint({sizes_.K, SymInt(-1)})}), "K, (N // K)");
}

TEST_F(RuleErrors, AnAskedSizeOfAnotherOriginIsAmbiguous) {
  const SymInt other = mode_.symbol("S", 7, Origin::kRequest);
  EXPECT_NE(message([&] {
              return sizes_.x.view_symint({other, sizes_.I});
            }).find("a dimension of size 7 is T (operand) or S (asked for)"),
            std::string::npos);
}

TEST_F(RuleErrors, WrittenArgumentsKeepTheirLabels) {
  const SymInt other = mode_.symbol("S", 7, Origin::kRequest);
  Tensor out = at::zeros_symint({other, sizes_.I});
  EXPECT_NE(message([&] { return at::mul_out(out, sizes_.x, sizes_.row); }).find("'out' is S (before) or T"),
            std::string::npos);
  Tensor fresh = at::empty({7, 11});
  at::mul_out(fresh, sizes_.x, sizes_.row);
  EXPECT_EQ(text({fresh}), "T, I");
}

}  // namespace
}  // namespace dooly::profiling
