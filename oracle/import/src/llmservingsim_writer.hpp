#pragma once

#include "exporter.hpp"
#include "oracle/gpu.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dooly::import_ {

using Layers = std::map<std::string, oracle::OperatorKey>;

/// One `tpN` of an export.
struct TensorParallelFolder {
  const ExportContext& context;
  std::filesystem::path path;  ///< below what is exported to
  std::uint32_t tensor_parallel;
  std::uint32_t usual_count;  ///< repetitions that meta.yaml states
  const oracle::Gpu* gpu;  ///< none: not known, and nothing is predicted
  const Layers& layers;
};

/// Microseconds.
std::string us(double seconds);

/// The columns behind the time, where one sample has more to say than its time; and the one that names what nobody
/// measured in a row. The simulator reads columns by name.
class MoreColumns {
 public:
  MoreColumns(const std::vector<oracle::Sample>& samples, std::uint32_t usual_count, bool has_predictions = false);
  std::string header() const;
  /// `predicted`: the operator whose time nobody measured.
  std::string cells(const oracle::Sample& sample, const char* predicted = "") const;

 private:
  bool wanted_ = false, has_predictions_;
};

/// A time that nobody measured: no repetitions.
oracle::Sample prediction(const oracle::SamplePoint& point, double seconds);

/// attention.csv, skew.csv and skew_fit.csv; returns the lines of meta.yaml about the fit, empty without it.
/// LLMServingSim looks attention up on a grid of four numbers. Where that has gaps, it is filled with predictions, and
/// what was measured beside it goes into attention_off_grid.csv, which it does not read.
std::string write_attention(const TensorParallelFolder& folder);
/// What stands before these lines.
std::string skew_fit_head();

/// moe.csv. Where no sample tells how many experts its tokens use, the rows are predictions from those of balanced
/// routing, on the grid of upstream's profiler, with what the router takes.
void write_moe(const TensorParallelFolder& folder);

}  // namespace dooly::import_
