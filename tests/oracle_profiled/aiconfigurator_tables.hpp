#pragma once

#include "hand_made.hpp"
#include "oracle/operator_keys.hpp"

#include <filesystem>
#include <vector>

namespace dooly::oracle::test {

/// bfloat16 linears of an AIConfigurator GEMM table, by (k, n).
std::vector<SampleSet> read_linears(const std::filesystem::path& csv_gz);

/// bfloat16 attention of one shape from a context and a generation table.
SampleSet read_attention(const std::filesystem::path& folder, std::uint64_t heads, std::uint64_t kv_heads,
                         std::uint64_t head_dim);

}  // namespace dooly::oracle::test
