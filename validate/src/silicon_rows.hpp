#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dooly::validate {

/// An operating point of AIConfigurator's `silicon_sample`: one engine under a closed loop of equal requests.
struct SiliconRow {
  std::string id;
  std::string model, system, engine_version;  ///< `Qwen/Qwen3-32B`, `h100_sxm`, `0.12.0` (empty: not told)
  std::string weights;  ///< gemm_quant_mode; empty: those of the checkpoint
  std::uint32_t prompt = 0, output = 0;  ///< tokens
  std::uint32_t clients = 0;  ///< that the engine sees
  bool has_clients = false;  ///< false: worked out of the batch size, see clients_of()
  std::uint32_t tensor_parallel = 1, pipeline_parallel = 1;
  std::uint32_t attention_data_parallel = 0;  ///< 0: not told
  std::uint32_t expert_tensor_parallel = 1, expert_parallel = 1;
  double ttft_s = 0, tpot_s = 0;

  /// Data-parallel ranks of the attention: told, or the ranks of the experts over those of a tensor-parallel group.
  std::uint32_t data_parallel(bool has_experts) const;
  /// Output tokens per second of all clients, from the means: clients × output ÷ (TTFT + TPOT × (output − 1)).
  double throughput(double ttft, double tpot) const;
  std::string shape() const;  ///< "h100_sxm tp2 ep1 1024/128 x8"
};

/// The rows of `backend` that serve prompts and answers on the same GPUs (mode `agg`), in the order of the file.
/// Throws MissingData, ValidationError naming file, line and column.
std::vector<SiliconRow> read_silicon_rows(const std::filesystem::path& path, const std::string& backend);

}  // namespace dooly::validate
