#pragma once

#include "exporter.hpp"
#include "vidur_tables.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dooly::import_ {

/// Six columns `time_stats.NAME.FIGURE`, each with a comma behind it.
std::string stats_header(const std::string& name);
/// Their cells; empty ones for what was not measured.
std::string stats_cells(const oracle::Sample* sample);

/// As attention's tables call the family.
std::string backend_name(const std::string& family, const std::string& gpu);

using ByRows = std::map<std::uint64_t, oracle::Sample>;
ByRows by_rows(const std::vector<oracle::Sample>& samples);

/// Of the model's dense layers on `tp` GPUs.
VidurShape shape_of(const oracle::ModelConfig& model, std::uint32_t tp);

/// mlp.csv. Vidur's regressions take no row with a gap: an operator that was not measured at a row's size gets the time
/// that its own samples predict there, and column `predicted_operators` names it, so that no reader takes it for
/// measured. Norms for which the fused add + norm stands are named by `fused_operators`. Of LibTorch's own kernels
/// `attention_backend` tells.
void write_vidur_mlp(const ExportContext& context, const std::filesystem::path& folder, const std::string& dtype);

}  // namespace dooly::import_
