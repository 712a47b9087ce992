#pragma once

#include "rule_call.hpp"

namespace dooly::profiling::rules {

using Results = std::vector<Labels>;

// Each is the `apply` of rows in rule_table.cpp, which says for which operators; `parameter` as told there.

// rules_factory.cpp
Results requested_sizes(const RuleCall& call);   ///< sizes of the argument "size", or `parameter`
Results like_argument(const RuleCall& call);     ///< the dimensions of the argument `parameter`
Results counted(const RuleCall& call);           ///< arange; `parameter` "with its end": range
Results rows_and_columns(const RuleCall& call);  ///< eye
Results one_hot(const RuleCall& call);
Results scalar(const RuleCall& call);            ///< no dimensions
Results nonzero(const RuleCall& call);           ///< rows that the data know, a column for each dimension
Results unique(const RuleCall& call);            ///< values, then where each element's is
Results keep_written(const RuleCall& call);      ///< written arguments keep their dimensions
Results data_dependent(const RuleCall& call);    ///< sizes that only the data know: unlabelled
// rules_shape.cpp
Results view(const RuleCall& call);
Results view_dtype(const RuleCall& call);
Results reshape_like(const RuleCall& call);
Results transpose(const RuleCall& call);
Results transpose_last(const RuleCall& call);    ///< t, mT, numpy_T: all dimensions or the last two reversed
Results permute(const RuleCall& call);
Results movedim(const RuleCall& call);
Results squeeze(const RuleCall& call);
Results unsqueeze(const RuleCall& call);
Results expand(const RuleCall& call);
Results repeat(const RuleCall& call);
Results repeat_interleave(const RuleCall& call);
Results pad(const RuleCall& call);
Results windows(const RuleCall& call);           ///< unfold
Results diagonal(const RuleCall& call);          ///< of the argument `parameter`
Results diag_embed(const RuleCall& call);
Results diag(const RuleCall& call);              ///< of a vector the matrix, of a matrix the vector
Results parts_of_complex(const RuleCall& call);  ///< view_as_real
Results meshgrid(const RuleCall& call);
// rules_split.cpp
Results split(const RuleCall& call);             ///< split, split_with_sizes
Results chunk(const RuleCall& call);             ///< chunk, tensor_split into equal parts; glu's half
Results narrow(const RuleCall& call);
Results slice(const RuleCall& call);
Results select(const RuleCall& call);            ///< select, unbind: one dimension less
Results rows(const RuleCall& call);              ///< all but the last dimension of `parameter`
Results cat(const RuleCall& call);
Results cat_along(const RuleCall& call);         ///< hstack, vstack
Results stack(const RuleCall& call);
Results declared_width(const RuleCall& call);    ///< "x symbol": rows of x, then what the row declares
Results half_last(const RuleCall& call);         ///< the last dimension of `parameter` halved
// rules_index.cpp
Results index_select(const RuleCall& call);
Results take_along(const RuleCall& call);
Results index(const RuleCall& call);
Results embedding(const RuleCall& call);
Results topk(const RuleCall& call);
Results drawn(const RuleCall& call);    ///< multinomial
Results per_row(const RuleCall& call);  ///< "x count symbol": rows of tensor x, then the integer argument count
// rules_compute.cpp
Results elementwise(const RuleCall& call);  ///< all tensors broadcast, or those that `parameter` names
Results linear(const RuleCall& call);
Results matmul(const RuleCall& call);
Results grouped_matmul(const RuleCall& call);  ///< rows in groups, each by a matrix of its own
Results rows_of_both(const RuleCall& call);    ///< "x y": x's dimensions, the last one y's rows
Results conv1d(const RuleCall& call);
Results vecdot(const RuleCall& call);
Results outer(const RuleCall& call);
Results einsum(const RuleCall& call);
Results attention(const RuleCall& call);  ///< "q v": q's dimensions, the last one v's
Results expanded_attention(const RuleCall& call);  ///< over keys and values from a latent; then sums of exponentials
Results rows_of_width(const RuleCall& call);    ///< "x y": x's rows, as wide as y
Results flash_attention(const RuleCall& call);  ///< FlashAttention's fwd: the result, then what it needs for gradients
Results reduction(const RuleCall& call);
Results normalised(const RuleCall& call);  ///< native_layer_norm: result, then statistics
Results scaled_last(const RuleCall& call);  ///< "x count symbol": x with the last dimension so many times

}  // namespace dooly::profiling::rules
