#pragma once

#include "rule_call.hpp"

namespace dooly::profiling {

/// View algebra: the row-major elements of `in` seen as `out`, whose labels (if any) were requested by the caller.
/// Runs of dimensions with equal products correspond: many to one multiplies labels, one to many divides exactly, by
/// the labels that are known or by the factors of the product whose values are the sizes. Plain sizes that no factors
/// give stay unlabelled; sizes that several factors give throw TaintError with both.
Labels regroup(const Dims& in, const Dims& out, const RuleCall& call);

/// Pieces that add up to `whole`, in order. Unlabelled pieces get the terms of the sum whose values are their sizes.
Labels split_sum(const std::optional<Expression>& whole, const Dims& pieces, const RuleCall& call);

/// A part of `length` of a dimension: the sub-sum of its terms that has this value, if there is just one.
std::optional<Expression> part_of(const Dim& whole, const Dim& length, const RuleCall& call);

/// whole / divisor where that is exact: by form, or by value between sizes of the model.
std::optional<Expression> exact_share(const Expression& whole, const Expression& divisor, const RuleCall& call);

}  // namespace dooly::profiling
