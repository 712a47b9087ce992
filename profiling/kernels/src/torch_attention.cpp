#include "torch_attention.hpp"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace dooly::profiling {

namespace {

/// One request's part of a batch.
struct Part {
  std::int64_t first_query = 0, queries = 0, length = 0;
  std::int64_t context() const { return length - queries; }
  /// First cached token that any of its queries attends to.
  std::int64_t first_token(std::int64_t window) const {
    return window > 0 ? std::max<std::int64_t>(0, context() - window + 1) : 0;
  }
};

std::vector<Part> parts_of(const at::Tensor& query_start, const at::Tensor& sequence_lengths) {
  const at::Tensor starts = query_start.cpu().contiguous();
  const at::Tensor lengths = sequence_lengths.cpu().contiguous();
  std::vector<Part> parts(static_cast<std::size_t>(lengths.size(0)));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t begin = starts.const_data_ptr<std::int32_t>()[i];
    const std::int64_t end = starts.const_data_ptr<std::int32_t>()[i + 1];
    parts[i] = {begin, end - begin, lengths.const_data_ptr<std::int32_t>()[i]};
  }
  return parts;
}

float dot(const float* a, const float* b, std::int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// One KV head of one request: its keys and values as float32, attended to by the query heads that share it.
template <class T>
class HeadWorker {
 public:
  HeadWorker(const at::Tensor& k_cache, const at::Tensor& v_cache, std::int64_t head_dim, double scale,
             std::int64_t window, double soft_cap)
      : k_(k_cache.const_data_ptr<T>()),
        v_(v_cache.const_data_ptr<T>()),
        block_size_(k_cache.size(1)),
        k_strides_(k_cache.strides()),
        v_strides_(v_cache.strides()),
        dim_(head_dim),
        scale_(static_cast<float>(scale)),
        window_(window),
        cap_(static_cast<float>(soft_cap)) {}

  void load(const Part& part, const std::int32_t* blocks, std::int64_t kv_head) {
    first_ = part.first_token(window_);
    const std::int64_t count = part.length - first_;
    keys_.resize(static_cast<std::size_t>(count * dim_));
    values_.resize(keys_.size());
    for (std::int64_t token = first_; token < part.length; ++token) {
      const std::int64_t block = blocks[token / block_size_], slot = token % block_size_;
      const T* key = k_ + block * k_strides_[0] + slot * k_strides_[1] + kv_head * k_strides_[2];
      const T* value = v_ + block * v_strides_[0] + slot * v_strides_[1] + kv_head * v_strides_[2];
      float* to_key = keys_.data() + (token - first_) * dim_;
      float* to_value = values_.data() + (token - first_) * dim_;
      for (std::int64_t i = 0; i < dim_; ++i) to_key[i] = static_cast<float>(key[i]);
      for (std::int64_t i = 0; i < dim_; ++i) to_value[i] = static_cast<float>(value[i]);
    }
  }

  /// The query at `position` of the sequence.
  void attend(const T* query, std::int64_t position, T* out) {
    const std::int64_t from = window_ > 0 ? std::max<std::int64_t>(0, position - window_ + 1) : 0;
    query_.assign(query, query + dim_);
    scores_.resize(static_cast<std::size_t>(position + 1 - from));
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const std::int64_t token = from - first_ + static_cast<std::int64_t>(i);
      float score = scale_ * dot(query_.data(), keys_.data() + token * dim_, dim_);
      if (cap_ > 0) score = cap_ * std::tanh(score / cap_);
      scores_[i] = score;
      largest = std::max(largest, score);
    }
    sum_.assign(static_cast<std::size_t>(dim_), 0.0F);
    float total = 0;
    for (std::size_t i = 0; i < scores_.size(); ++i) {
      const float weight = std::exp(scores_[i] - largest);
      const float* value = values_.data() + (from - first_ + static_cast<std::int64_t>(i)) * dim_;
      total += weight;
      for (std::int64_t d = 0; d < dim_; ++d) sum_[static_cast<std::size_t>(d)] += weight * value[d];
    }
    for (std::int64_t d = 0; d < dim_; ++d) out[d] = static_cast<T>(sum_[static_cast<std::size_t>(d)] / total);
  }

 private:
  const T* k_;
  const T* v_;
  std::int64_t block_size_;
  at::IntArrayRef k_strides_, v_strides_;
  std::int64_t dim_;
  float scale_;
  std::int64_t window_;
  float cap_;
  std::int64_t first_ = 0;  ///< token of the first row loaded
  std::vector<float> keys_, values_, query_, scores_, sum_;
};

template <class T>
void attend_all(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                const std::vector<Part>& parts, const at::Tensor& table, std::int64_t group, double scale,
                std::int64_t window, double soft_cap, at::Tensor& out) {
  const std::int64_t heads = q.size(1), kv_heads = heads / group, dim = q.size(2);
  const auto tasks = static_cast<std::int64_t>(parts.size()) * kv_heads;
  at::parallel_for(0, tasks, 1, [&](std::int64_t begin, std::int64_t end) {
    HeadWorker<T> worker(k_cache, v_cache, dim, scale, window, soft_cap);
    for (std::int64_t task = begin; task < end; ++task) {
      const Part& part = parts[static_cast<std::size_t>(task / kv_heads)];
      if (part.length == 0) continue;
      const std::int64_t kv_head = task % kv_heads;
      worker.load(part, table.const_data_ptr<std::int32_t>() + task / kv_heads * table.size(1), kv_head);
      for (std::int64_t i = 0; i < part.queries; ++i)
        for (std::int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
          const std::int64_t row = (part.first_query + i) * heads + head;
          worker.attend(q.const_data_ptr<T>() + row * dim, part.context() + i, out.mutable_data_ptr<T>() + row * dim);
        }
    }
  });
}

/// Scores of one request, [heads, queries, tokens], with what a query may not see at -infinity.
at::Tensor masked_scores(at::Tensor scores, const Part& part, std::int64_t first, std::int64_t window,
                         double soft_cap) {
  if (soft_cap > 0) scores = at::tanh(scores / soft_cap) * soft_cap;
  const auto options = scores.options().dtype(at::kLong);
  const at::Tensor query = at::arange(part.context(), part.length, options).unsqueeze(1);
  const at::Tensor token = at::arange(first, part.length, options).unsqueeze(0);
  at::Tensor hidden = token.gt(query);
  if (window > 0) hidden = hidden.logical_or(token.le(query - window));
  return scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());
}

}  // namespace

at::Tensor paged_attention_cpu(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                               const at::Tensor& query_start, const at::Tensor& sequence_lengths,
                               const at::Tensor& block_table, std::int64_t heads, std::int64_t kv_heads,
                               std::int64_t head_dim, double scale, std::int64_t window, double soft_cap) {
  TORCH_CHECK(q.dim() == 3 && q.size(1) == heads && q.size(2) == head_dim, "paged_attention: q must be [tokens, ",
              heads, ", ", head_dim, "], got ", q.sizes());
  TORCH_CHECK(k_cache.size(2) == kv_heads && heads % kv_heads == 0 && k_cache.stride(3) == 1 && v_cache.stride(3) == 1,
              "paged_attention: caches must be [blocks, block size, ", kv_heads, ", ", head_dim, "], got ",
              k_cache.sizes());
  const at::Tensor query = q.contiguous(), table = block_table.contiguous();
  const std::vector<Part> parts = parts_of(query_start, sequence_lengths);
  at::Tensor out = at::empty_like(query);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, q.scalar_type(), "paged_attention", [&] {
    attend_all<scalar_t>(query, k_cache, v_cache, parts, table, heads / kv_heads, scale, window, soft_cap, out);
  });
  return out;
}

at::Tensor paged_attention_composed(const at::Tensor& q, const at::Tensor& k_cache, const at::Tensor& v_cache,
                                    const at::Tensor& query_start, const at::Tensor& sequence_lengths,
                                    const at::Tensor& block_table, std::int64_t heads, std::int64_t kv_heads,
                                    std::int64_t head_dim, double scale, std::int64_t window, double soft_cap) {
  const std::vector<Part> parts = parts_of(query_start, sequence_lengths);
  const std::int64_t group = heads / kv_heads, block_size = k_cache.size(1);
  at::Tensor out = at::empty_like(q, at::MemoryFormat::Contiguous);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.length == 0) continue;
    const std::int64_t block = part.first_token(window) / block_size, first = block * block_size;
    const std::int64_t blocks = (part.length + block_size - 1) / block_size - block;
    const at::Tensor ids = block_table.select(0, static_cast<std::int64_t>(i)).narrow(0, block, blocks);
    const auto gather = [&](const at::Tensor& cache) {  // [kv_heads, 1, tokens, head_dim]
      const at::Tensor rows = cache.index_select(0, ids).view({-1, kv_heads, head_dim});
      return rows.narrow(0, 0, part.length - first).permute({1, 0, 2}).unsqueeze(1).to(at::kFloat);
    };
    const at::Tensor rows = q.narrow(0, part.first_query, part.queries).to(at::kFloat);
    const at::Tensor query = rows.permute({1, 0, 2}).reshape({kv_heads, group, part.queries, head_dim});
    const at::Tensor scores = at::matmul(query, gather(k_cache).transpose(2, 3)) * scale;
    const at::Tensor weights = at::softmax(masked_scores(scores, part, first, window, soft_cap), -1);
    const at::Tensor sum = at::matmul(weights, gather(v_cache)).view({heads, part.queries, head_dim});
    out.narrow(0, part.first_query, part.queries).copy_(sum.permute({1, 0, 2}));
  }
  return out;
}

}  // namespace dooly::profiling
