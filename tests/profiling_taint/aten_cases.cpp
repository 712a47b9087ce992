#include "operator_cases.hpp"

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

namespace dooly::profiling {

namespace {

using Cases = std::vector<OperatorCase>;

const Cases kFactories = {
    {"empty.memory_format", "size=(T,N*D)"},
    {"zeros", "size=(T+1,1)"},
    {"zeros", "size=(9,T)", 1},  // nobody knows where a 9 is from
    {"ones", "size=(T,D)"},
    {"full", "size=(R) fill_value=2"},
    {"rand", "size=(T,D)"},
    {"randn", "size=(T,D)"},
    {"randint", "high=5 size=(T,D)"},
    {"randint.low", "low=1 high=5 size=(T,D)"},
    {"empty_strided", "size=(T,D) stride=(D,1)"},
    {"empty_permuted", "size=(T,D) physical_layout=(1,0)"},
    {"new_empty", "self=[I] size=(T,D)"},
    {"new_zeros", "self=[I] size=(T,D)"},
    {"new_ones", "self=[I] size=(T,D)"},
    {"new_full", "self=[I] size=(T,D) fill_value=2"},
    {"new_empty_strided", "self=[I] size=(T,D) stride=(D,1)"},
    {"resize", "self=[T,D] size=(R,D)"},
    {"resize_", "self=[T,D] size=(T,D)"},
    {"empty_like", "self=[T,D]"},
    {"zeros_like", "self=[T,D]"},
    {"ones_like", "self=[T,D]"},
    {"full_like", "self=[T,D] fill_value=2"},
    {"rand_like", "self=[T,D]"},
    {"randn_like", "self=[T,D]"},
    {"randint_like", "self=[T,D] high=5"},
    {"arange", "end=T"},
    {"arange.start", "start=R end=T"},
    {"arange.start_step", "start=0 end=T step=K"},
    {"arange.start_step", "start=R end=T step=2"},
    {"arange.start_step", "start=T end=0 step=-2"},
    {"arange.start_step", "start=1.5 end=T step=1", 1},
    {"arange.start_step", "start=0 end=2.5 step=0.5", 1},
    {"range", "start=R end=T"},
    {"range.step", "start=R end=T step=2"},
    {"range.step", "start=T end=R step=-2"},
    {"linspace", "start=0 end=T steps=N", 1},  // its schema takes a plain number of steps
    {"linspace", "start=0.5 end=2.5 steps=T", 1},
    {"linspace.Tensor_Scalar", "start=[] end=R steps=1"},
    {"histc", "self=[T] bins=E", 1},  // a plain number
    {"histc", "self=[T] bins=1"},
    {"eye", "n=T"},
    {"eye.m", "n=T m=I"},
    {"one_hot", "self=[R,T]:long num_classes=E", 1},  // a plain number
    {"one_hot", "self=[T]:long", 1},
    {"scalar_tensor", "s=T"},
    {"trace", "self=[I,I]"},
    {"dot", "self=[I] tensor=[I]"},
    {"vdot", "self=[I] other=[I]"},
    {"equal", "self=[T,I] other=[T,I]"},
};

const Cases kOfData = {
    {"nonzero", "self=[T,I]", 1},
    {"nonzero", "self=[T,I,D]", 1},
    {"nonzero_static", "self=[T,I] size=R"},
    {"masked_select", "self=[T] mask=[T]:bool", 1},
    {"_unique", "self=[T,I]", 2},
    {"_unique", "self=[T,I] return_inverse=true", 1},
    {"_unique2", "self=[T,I] return_inverse=true", 2},
    {"unique_dim", "self=[T,I] dim=0 return_inverse=true return_counts=true", 2},
    {"unique_dim", "self=[T,I] dim=1", 3},
    {"unique_consecutive", "self=[T,I]", 3},
    {"bincount", "self=[T]:long", 1},
    {"where.", "condition=[T]:bool", 1},
    {"repeat_interleave.Tensor", "repeats=[T]:long", 1},
    {"repeat_interleave.self_Tensor", "self=[T,I] repeats=[T]:long dim=0", 1},
};

const Cases kShapes = {
    {"view", "self=[T,N*D] size=(T,N,D)"},
    {"view", "self=[T,N*D] size=(-1,D)"},
    {"view.dtype", "self=[T,I] dtype=half"},
    {"view.dtype", "self=[T,2*I]:half dtype=float"},
    {"reshape", "self=[T,N,D] shape=(T,-1)"},
    {"_unsafe_view", "self=[T,N,D] size=(T,N*D)"},
    {"_reshape_alias", "self=[T,N,D] size=(T,N*D) stride=(N*D,1)"},
    {"flatten.using_ints", "self=[T,N,D] start_dim=1"},
    {"flatten.using_ints", "self=[T,N,D] start_dim=0 end_dim=1"},
    {"unflatten.int", "self=[T,N*D] dim=1 sizes=(N,-1)"},
    {"unflatten.int", "self=[N*D,T] dim=-2 sizes=(N,D)"},
    {"ravel", "self=[T,N,D]"},
    {"view_as", "self=[T,N*D] other=[T,N,D]"},
    {"reshape_as", "self=[T,N*D] other=[T,N,D]"},
    {"transpose.int", "self=[T,N,D] dim0=0 dim1=-1"},
    {"swapaxes", "self=[T,N,D] axis0=0 axis1=-1"},
    {"swapdims", "self=[T,N,D] dim0=1 dim1=2"},
    {"t", "self=[T,I]"},
    {"t", "self=[T]"},
    {"numpy_T", "self=[T,N,D]"},
    {"mT", "self=[T,N,D]"},
    {"mH", "self=[T,N,D]"},
    {"matrix_H", "self=[T,I]"},
    {"adjoint", "self=[T,N,D]"},
    {"permute", "self=[T,N,D] dims=(1,-1,0)"},
    {"movedim.int", "self=[T,N,D] source=0 destination=2"},
    {"movedim.intlist", "self=[T,N,D] source=(2,0) destination=(0,1)"},
    {"moveaxis.int", "self=[T,N,D] source=-1 destination=0"},
    {"moveaxis.intlist", "self=[T,N,D] source=(2,0) destination=(0,1)"},
    {"squeeze", "self=[T,1,D,1]"},
    {"squeeze.dim", "self=[T,1,D,1] dim=-1"},
    {"squeeze.dims", "self=[T,1,D,1] dim=(0,1)"},
    {"unsqueeze", "self=[T,I] dim=-1"},
    {"unsqueeze", "self=[T,I] dim=0"},
    {"expand", "self=[T,1] size=(R,-1,D)"},
    {"expand_as", "self=[T,1] other=[R,T,D]"},
    {"broadcast_to", "self=[T,1] size=(R,T,D)"},
    {"repeat", "self=[T,I] repeats=(R,1,K)"},
    {"tile", "self=[T,I] dims=(K)"},
    {"tile", "self=[T,I] dims=(R,1,K)"},
    {"repeat_interleave.self_int", "self=[T,I] repeats=E dim=1"},
    {"repeat_interleave.self_int", "self=[T,I] repeats=E"},
    {"pad", "self=[T,I] pad=(0,R)"},
    {"pad", "self=[T,I] pad=(0,1,R,0) mode='constant'"},
    {"constant_pad_nd", "self=[T,I] pad=(0,R)"},
    {"as_strided", "self=[T,I] size=(I,T) stride=(1,I)"},
    {"as_strided_copy", "self=[T,I] size=(R,D) stride=(I,1)"},
    {"unfold", "self=[T,I] dimension=1 size=K step=1", 2},  // a plain number
    {"unfold", "self=[T,I] dimension=0 size=1 step=2"},
    {"unfold_copy", "self=[T,I] dimension=-1 size=1 step=1"},
    {"diagonal", "self=[T,T,I]"},
    {"diagonal", "self=[I,T,T] offset=-1 dim1=-2 dim2=-1"},
    {"diagonal", "self=[T,I]"},
    {"diagonal", "self=[T,I] offset=1"},
    {"diagonal_copy", "self=[T,I,T] dim1=2 dim2=0"},
    {"linalg_diagonal", "A=[I,T,T] offset=2"},
    {"diag_embed", "self=[T,I]"},
    {"diag_embed", "self=[T,I] offset=1 dim1=0 dim2=2"},
    {"diag", "self=[T]"},
    {"diag", "self=[T] diagonal=-2"},
    {"diag", "self=[T,T] diagonal=1"},
    {"diag", "self=[T,I] diagonal=-1"},
    {"view_as_complex", "self=[T,D,2]"},
    {"view_as_real", "self=[T,D]:complex"},
    {"meshgrid", "tensors={[T];[I];[D]}"},
    {"meshgrid.indexing", "tensors={[T];[I];[D]} indexing='xy'"},
};

const Cases kSplits = {
    {"split.Tensor", "self=[T,2*I] split_size=I dim=1"},
    {"split.Tensor", "self=[T,I] split_size=R"},
    {"split.sizes", "self=[T,N+K] split_size=(N,K) dim=-1"},
    {"split_with_sizes", "self=[T,N+K] split_sizes=(N,K) dim=1"},
    {"split_copy.Tensor", "self=[T,2*I] split_size=I dim=1"},
    {"split_with_sizes_copy", "self=[T,N+K] split_sizes=(N,K) dim=1"},
    {"unsafe_split.Tensor", "self=[T,2*I] split_size=I dim=1"},
    {"unsafe_split_with_sizes", "self=[T,N+K] split_sizes=(N,K) dim=1"},
    {"chunk", "self=[T,2*I] chunks=2 dim=-1"},
    {"chunk", "self=[T,I] chunks=2"},
    {"unsafe_chunk", "self=[T,2*I] chunks=2 dim=-1"},
    {"tensor_split.sections", "self=[T,2*I] sections=2 dim=1"},
    {"tensor_split.indices", "self=[T,N+K] indices=(N) dim=1"},
    {"glu", "self=[T,2*I]"},
    {"glu", "self=[2*I,T] dim=0"},
    {"narrow", "self=[T,N+K] dim=1 start=N length=K"},
    {"narrow.Tensor", "self=[T,N+K] dim=1 start=[]:long length=K"},
    {"narrow_copy", "self=[T,I] dim=0 start=0 length=R"},
    {"slice.Tensor", "self=[T,I] dim=0 start=1"},
    {"slice.Tensor", "self=[T,I] dim=0 start=0 end=R"},
    {"slice.Tensor", "self=[T,I] dim=0 start=R end=T step=2"},
    {"slice.Tensor", "self=[T,I] dim=1 start=-1"},
    {"select.int", "self=[T,N,D] dim=1 index=0"},
    {"unbind.int", "self=[T,3,D] dim=1"},
    {"cat", "tensors={[T,I];[T,D]} dim=1"},
    {"cat", "tensors={[T,I];[R,I];[0]} dim=0"},
    {"concat", "tensors={[T,I];[T,D]} dim=-1"},
    {"concatenate", "tensors={[T,I];[T,D]} dim=1"},
    {"hstack", "tensors={[T,I];[T,D]}"},
    {"hstack", "tensors={[T];[I]}"},
    {"vstack", "tensors={[T,I];[R,I]}"},
    {"vstack", "tensors={[I];[I]}"},
    {"stack", "tensors={[T,I];[T,I]} dim=1"},
    {"stack", "tensors={[T,I];[T,I]} dim=-1"},
};

const Cases kIndices = {
    {"gather", "self=[T,I] dim=0 index=[R,D]:long"},
    {"take_along_dim", "self=[T,I] indices=[R,I]:long dim=0"},
    {"take_along_dim", "self=[T,I] indices=[1,D]:long dim=1"},
    {"take_along_dim", "self=[T,1] indices=[R,I]:long dim=0"},
    {"take_along_dim", "self=[T,I] indices=[R,D]:long"},
    {"index_select", "self=[T,I] dim=0 index=[R]:long"},
    {"index_select", "self=[T,I] dim=-1 index=[]:long"},
    {"index.Tensor", "self=[T,I] indices={[R]:long}"},
    {"index.Tensor", "self=[T,N,D] indices={[R,1]:long;none;[K]:long}"},
    {"index.Tensor", "self=[T,I] indices={[T]:bool}", 1},
    {"embedding", "weight=[I,D] indices=[R,T]:long"},
    {"topk", "self=[T,I] k=K"},
    {"topk", "self=[T,I] k=K dim=0"},
    {"multinomial", "self=[T,I] num_samples=K"},
    {"multinomial", "self=[I] num_samples=1"},
    {"bucketize.Tensor", "self=[T,I] boundaries=[D]"},
    {"bucketize.Scalar", "self=2 boundaries=[D]"},
    {"searchsorted.Tensor", "sorted_sequence=[D] self=[T,I]"},
    {"searchsorted.Scalar", "sorted_sequence=[D] self=2"},
    {"sort", "self=[T,I]"},
    {"sort.stable", "self=[T,I] stable=true dim=0"},
    {"argsort", "self=[T,I]"},
    {"cumsum", "self=[T,I] dim=0"},
    {"cummax", "self=[T,I] dim=0"},
    {"cummin", "self=[T,I] dim=1"},
    {"logcumsumexp", "self=[T,I] dim=0"},
    {"fliplr", "self=[T,I]"},
    {"flipud", "self=[T,I]"},
    {"cumprod", "self=[T,I] dim=1"},
    {"flip", "self=[T,I] dims=(0)"},
    {"roll", "self=[T,I] shifts=(R) dims=(0)"},
    {"tril", "self=[T,I]"},
    {"triu", "self=[T,I] diagonal=1"},
    {"scatter.value", "self=[T,I] dim=0 index=[R,D]:long value=1"},
    {"scatter.src", "self=[T,I] dim=0 index=[R,D]:long src=[R,D]"},
    {"scatter_add", "self=[T,I] dim=0 index=[R,D]:long src=[R,D]"},
    {"scatter_reduce.two", "self=[T,I] dim=0 index=[R,D]:long src=[R,D] reduce='sum'"},
    {"index_put", "self=[T,I] indices={[R]:long} values=[R,I]"},
    {"_index_put_impl", "self=[T,I] indices={[R]:long} values=[R,I]"},
    {"index_add", "self=[T,I] dim=0 index=[R]:long source=[R,I]"},
    {"index_copy", "self=[T,I] dim=0 index=[R]:long source=[R,I]"},
    {"index_fill.int_Scalar", "self=[T,I] dim=0 index=[R]:long value=1"},
    {"masked_scatter", "self=[T,I] mask=[I]:bool source=[T,I]"},
    {"masked_scatter", "self=[I] mask=[T,1]:bool source=[T,I]"},
};

const Cases kCopies = {
    {"softmax.int", "self=[T,I] dim=-1"},
    {"_softmax", "self=[T,I] dim=-1 half_to_float=false"},
    {"log_softmax.int", "self=[T,I] dim=-1"},
    {"_log_softmax", "self=[T,I] dim=-1 half_to_float=false"},
    {"copy", "self=[T,I] src=[I]"},
    {"copy_", "self=[T,I] src=[I]"},
    {"fill.Scalar", "self=[T,I] value=1"},
    {"fill.Tensor", "self=[T,I] value=[]"},
    {"zero", "self=[T,I]"},
    {"zero_", "self=[T,I]"},
    {"normal_functional", "self=[T,I]"},
    {"normal_", "self=[T,I]"},
    {"normal.Tensor_float", "mean=[T,I]"},
    {"normal.float_Tensor", "mean=0.5 std=[T,I]"},
    {"normal.Tensor_Tensor", "mean=[T,1] std=[I]"},
    {"normal.float_float", "mean=0.0 std=1.0 size=(T,D)"},
    {"uniform", "self=[T,I]"},
    {"random", "self=[T,I]"},
    {"exponential", "self=[T,I]"},
    {"contiguous", "self=[T,I]"},
    {"clone", "self=[T,I]"},
    {"detach", "self=[T,I]"},
    {"alias", "self=[T,I]"},
    {"lift_fresh", "self=[T,I]"},
    {"to.dtype", "self=[T,I] dtype=half"},
    {"to.other", "self=[T,I] other=[D]:half"},
    {"_to_copy", "self=[T,I] dtype=half"},
    {"type_as", "self=[T,I] other=[D]:half"},
    {"dropout", "input=[T,I] p=0.5 train=true"},
    {"layer_norm", "input=[T,I] normalized_shape=(I) weight=[I]"},
    {"rms_norm", "input=[T,I] normalized_shape=(I) weight=[I]"},
    {"group_norm", "input=[T,4*I] num_groups=4"},
};

const Cases kProducts = {
    {"linear", "input=[R,T,I] weight=[D,I] bias=[D]"},
    {"linear", "input=[T,I] weight=[I]"},
    {"matmul", "self=[T,I] other=[I,D]"},
    {"matmul", "self=[T,N,I] other=[I,D]"},
    {"matmul", "self=[R,1,T,I] other=[N,I,D]"},
    {"matmul", "self=[T,I] other=[I]"},
    {"matmul", "self=[I] other=[I,D]"},
    {"matmul", "self=[I] other=[R,I,D]"},
    {"matmul", "self=[I] other=[I]"},
    {"mm", "self=[T,I] mat2=[I,D]"},
    {"bmm", "self=[R,T,I] mat2=[R,I,D]"},
    {"addmm", "self=[D] mat1=[T,I] mat2=[I,D]"},
    {"addmm", "self=[T,1] mat1=[T,I] mat2=[I,D]"},
    {"baddbmm", "self=[T,D] batch1=[R,T,I] batch2=[R,I,D]"},
    {"mv", "self=[T,I] vec=[I]"},
    {"addmv", "self=[T] mat=[T,I] vec=[I]"},
    {"addmv", "self=[] mat=[T,I] vec=[I]"},
    {"_grouped_mm", "self=[8*T,8*I]:bf16 mat2=[1,8*I,8*D]:bf16 offs=[1]:int"},
    {"cdist", "x1=[R,T,I] x2=[R,D,I]"},
    {"conv1d", "input=[R,I,T] weight=[D,I,K]"},
    {"conv1d", "input=[R,I,T] weight=[I,1,K] bias=[I] padding=(K-1) groups=I"},
    {"conv1d", "input=[I,T] weight=[D,I,K] stride=(2) padding=(1) dilation=(2)"},
    {"conv1d.padding", "input=[R,I,T] weight=[D,I,3] padding='same'"},
    {"linalg_vecdot", "x=[T,I] y=[T,I]"},
    {"linalg_vecdot", "x=[R,1,I] y=[T,I] dim=-1"},
    {"linalg_vecdot", "x=[T,I] y=[1,I] dim=0"},
    {"_scaled_mm", "self=[16*T,16*I]:f8 mat2=[16*I,16*D]:f8 scale_a=[1] scale_b=[1] out_dtype=float"},
    {"einsum", "equation='tnd,td->nt' tensors={[T,N,D];[T,D]}"},
    {"scaled_dot_product_attention", "query=[1,N,T,D] key=[1,N,R,D] value=[1,N,R,I]"},
    {"_scaled_dot_product_attention_math", "query=[1,N,T,D] key=[1,N,R,D] value=[1,N,R,I]"},
    {"native_layer_norm", "input=[R,T,I] normalized_shape=(I) weight=none bias=none eps=0.1"},
    {"native_layer_norm", "input=[R,T,I] normalized_shape=(T,I) weight=none bias=none eps=0.1"},
    {"_fused_rms_norm", "input=[R,T,I] normalized_shape=(I) weight=[I] eps=0.1"},
};

const Cases kReductions = {
    {"sum", "self=[T,I]"},
    {"sum.dim_IntList", "self=[T,N,D] dim=(0,-1)"},
    {"sum.dim_IntList", "self=[T,N,D] dim=(1) keepdim=true"},
    {"mean", "self=[T,I]"},
    {"mean.dim", "self=[T,N,D] dim=(-1) keepdim=true"},
    {"prod", "self=[T,I]"},
    {"prod.dim_int", "self=[T,N,D] dim=1"},
    {"amax", "self=[T,N,D] dim=(1)"},
    {"amin", "self=[T,N,D] dim=(1) keepdim=true"},
    {"argmax", "self=[T,N,D] dim=1"},
    {"argmax", "self=[T,N,D]"},
    {"argmin", "self=[T,N,D] dim=1 keepdim=true"},
    {"any", "self=[T,I]:bool"},
    {"any.dim", "self=[T,I]:bool dim=1"},
    {"all", "self=[T,I]:bool"},
    {"all.dim", "self=[T,I]:bool dim=0 keepdim=true"},
    {"logsumexp", "self=[T,N,D] dim=(1)"},
    {"norm.Scalar", "self=[T,I] p=2"},
    {"norm.ScalarOpt_dim", "self=[T,I] p=2 dim=(1)"},
    {"linalg_vector_norm", "self=[T,I] dim=(1) keepdim=true"},
    {"var.correction", "self=[T,I] dim=(1)"},
    {"var.dim", "self=[T,I] dim=(0)"},
    {"std", "self=[T,I]"},
    {"std.correction", "self=[T,I] dim=(1) keepdim=true"},
    {"max", "self=[T,I]"},
    {"max.dim", "self=[T,N,D] dim=1"},
    {"min", "self=[T,I]"},
    {"min.dim", "self=[T,N,D] dim=1 keepdim=true"},
    {"var_mean.correction", "self=[T,I] dim=(1) keepdim=true"},
    {"std_mean.dim", "self=[T,I] dim=(0)"},
    {"aminmax", "self=[T,I] dim=1 keepdim=true"},
    {"aminmax", "self=[T,I]"},
    {"count_nonzero", "self=[T,I] dim=0"},
    {"count_nonzero.dim_IntList", "self=[T,N,D] dim=(0,1)"},
    {"nanmean", "self=[T,I] dim=(1)"},
    {"nansum", "self=[T,I] dim=(0) keepdim=true"},
    {"kthvalue", "self=[T,I] k=1"},
    {"mode", "self=[T,I] dim=0 keepdim=true"},
    {"median", "self=[T,I]"},
    {"median.dim", "self=[T,N,D] dim=1"},
};

const Cases kElementwise = {
    {"max.other", "self=[T,1] other=[I]"},
    {"min.other", "self=[T,1] other=[I]"},
    {"max.out", "self=[T,1] other=[I] out=[0]"},
    {"min.out", "self=[T,1] other=[I] out=[0]"},
    {"where.self", "condition=[T,1]:bool self=[I] other=[]"},
    {"where.Scalar", "condition=[T,1]:bool self=1 other=2"},
    {"rsub.Scalar", "self=[T,I] other=2"},
    {"rsub.Tensor", "self=[T,1] other=[I]"},
    {"pow.Tensor_Tensor", "self=[T,1] exponent=[I]"},
    {"pow.Tensor_Scalar", "self=[T,I] exponent=2"},
    {"pow.Scalar", "self=2 exponent=[T,I]"},
    {"clamp", "self=[T,I] min=0"},
    {"clamp.Tensor", "self=[T,1] min=[I]"},
    {"clamp_min", "self=[T,I] min=0"},
    {"clamp_max", "self=[T,I] max=0"},
    {"masked_fill.Scalar", "self=[T,1] mask=[I]:bool value=0"},
    {"lerp.Tensor", "self=[T,1] end=[I] weight=[]"},
    {"addcmul", "self=[I] tensor1=[T,1] tensor2=[I]"},
    {"addcdiv", "self=[I] tensor1=[T,1] tensor2=[I]"},
    {"threshold", "self=[T,I] threshold=0 value=0"},
    {"complex", "real=[T,1] imag=[I]"},
    {"polar", "abs=[T,1] angle=[I]"},
    {"real", "self=[T,I]:complex"},
    {"imag", "self=[T,I]:complex"},
    {"ger", "self=[T] vec2=[I]"},
    {"outer", "self=[T] vec2=[I]"},
    {"bitwise_left_shift.Tensor", "self=[T,1]:long other=[I]:long"},
    {"bitwise_right_shift.Tensor", "self=[T,1]:long other=[I]:long"},
    {"__lshift__.Tensor", "self=[T,1]:long other=[I]:long"},
    {"__rshift__.Tensor", "self=[T,1]:long other=[I]:long"},
};

constexpr std::string_view kBinary =
    "add.Tensor sub.Tensor mul.Tensor div.Tensor true_divide.Tensor floor_divide fmod.Tensor remainder.Tensor maximum "
    "minimum fmax fmin eq.Tensor ne.Tensor lt.Tensor le.Tensor gt.Tensor ge.Tensor logical_and logical_or logical_xor "
    "atan2";
constexpr std::string_view kBits =
    "bitwise_and.Tensor bitwise_or.Tensor bitwise_xor.Tensor __and__.Tensor "
    "__or__.Tensor __xor__.Tensor";
constexpr std::string_view kUnary =
    "logical_not abs neg exp exp2 expm1 log log2 log1p sqrt rsqrt square reciprocal sin cos tan tanh sigmoid erf relu "
    "gelu silu mish leaky_relu elu softplus hardtanh relu6 hardswish floor ceil round trunc sign isnan isinf isfinite "
    "nan_to_num";

/// The same arguments for each of `names`.
void append(Cases& all, std::string_view names, const char* arguments) {
  static std::deque<std::string> kept;
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    all.push_back({kept.emplace_back(name).c_str(), arguments});
  }
}

Cases all_of_them() {
  Cases all;
  for (const Cases* some :
       {&kFactories, &kOfData, &kShapes, &kSplits, &kIndices, &kCopies, &kProducts, &kReductions, &kElementwise}) {
    all.insert(all.end(), some->begin(), some->end());
  }
  append(all, kBinary, "self=[T,1] other=[R,1,I]");
  append(all, kBits, "self=[T,1]:long other=[R,1,I]:long");
  append(all, "bitwise_not", "self=[T,I]:long");
  append(all, kUnary, "self=[T,I]");
  return all;
}

}  // namespace

const std::vector<OperatorCase>& aten_cases() {
  static const Cases all = all_of_them();
  return all;
}

}  // namespace dooly::profiling
