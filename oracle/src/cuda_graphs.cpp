#include "oracle/cuda_graphs.hpp"

#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace dooly::oracle {

CudaGraphs::CudaGraphs(std::vector<std::uint32_t> sizes) {
  if (sizes.empty()) return;
  std::sort(sizes.begin(), sizes.end());
  if (sizes.front() == 0 || sizes.back() > 65536) {
    throw OracleError(
        fmt::format("cudagraph_capture_sizes: must be from 1 to 65536, got {}", sizes.front() == 0 ? 0 : sizes.back()));
  }
  largest_ = sizes.back();
  padded_.resize(largest_ + 1, 0);
  auto size = sizes.begin();
  for (std::uint32_t tokens = 1; tokens <= largest_; ++tokens) {
    while (*size < tokens) ++size;
    padded_[tokens] = *size;
  }
}

std::vector<std::uint32_t> CudaGraphs::default_sizes(std::uint32_t max_num_seqs, std::uint32_t max_num_batched_tokens) {
  const std::uint64_t largest = std::min<std::uint64_t>({512, 2 * std::uint64_t{max_num_seqs}, max_num_batched_tokens});
  std::vector<std::uint32_t> sizes;
  for (const std::uint32_t size : {1u, 2u, 4u}) {
    if (size <= largest) sizes.push_back(size);
  }
  for (std::uint32_t size = 8; size <= 512; size += size < 256 ? 8 : 16) {
    if (size <= largest) sizes.push_back(size);
  }
  return sizes;
}

}  // namespace dooly::oracle
