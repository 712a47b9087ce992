#pragma once

#include "importer.hpp"

#include <map>
#include <string>
#include <vector>

namespace dooly::import_ {

/// What of a Vidur-like profile the files themselves do not say.
struct VidurSetting {
  oracle::Environment environment{};
  std::string dtype = "float16", kv_dtype{};
  std::string model{};                          ///< for reports
  std::optional<oracle::ModelConfig> config{};  ///< head_dim, biases and kind of norm, where known
  bool environment_by_row = false;           ///< `measurement_type` is part of where from (Frontier)
};

/// mlp.csv, linear_op.csv: token operators of several tensor parallel degrees.
void read_vidur_mlp(const ProfileFile& file, ImportContext& context, const VidurSetting& setting);
/// attention.csv
void read_vidur_attention(const ProfileFile& file, ImportContext& context, const VidurSetting& setting);

/// Shape of an operator table's row.
struct VidurShape {
  std::uint64_t heads = 0, kv_heads = 0, hidden = 0, intermediate = 0, vocabulary = 0, tensor_parallel = 1;
  bool gated = true;
};
/// The operators of such a table by Vidur's names: emb, input_layernorm, attn_pre_proj, ... `family` is the one of
/// attention: `torch` is that of every operator.
std::map<std::string, oracle::OperatorKey> vidur_operators(const VidurShape& shape, const std::string& dtype,
                                                           const std::optional<oracle::ModelConfig>& config,
                                                           const std::string& family = {});
/// What the engine runs where Vidur has a norm and an addition: the fused add + norm. Empty of another norm.
std::optional<oracle::OperatorKey> fused_norm(const oracle::OperatorKey& norm);
/// A key beside attention of that family: as it is, but for LibTorch's own kernels, which are of every operator.
oracle::OperatorKey beside_attention(oracle::OperatorKey key, const std::string& family);

/// Column groups `time_stats.NAME.{min,max,mean,median,std,count}` of a table.
class CsvTable;
struct TimeStats {
  std::optional<std::size_t> min, max, mean, median, std, count;
  TimeStats(const CsvTable& table, const std::string& name);
  bool present() const { return median.has_value() || mean.has_value(); }
  /// Empty: the cell is, the row does not measure this. Drops (with the reason) what is no number.
  std::optional<Timing> read(const CsvTable& table, SampleCollector& collector, const std::string& name) const;
};

}  // namespace dooly::import_
