#include "profiling_sweep/refiner.hpp"

#include "attention_refiner.hpp"
#include "row_refiner.hpp"

namespace dooly::profiling {

std::unique_ptr<Refiner> make_refiner(const Operation& operation, const oracle::Gpu& gpu,
                                      const RefineSettings& settings, const Operation* near,
                                      const std::vector<oracle::Sample>* near_samples) {
  if (operation.binding == oracle::Binding::kAttention)
    return std::make_unique<AttentionRefiner>(operation, gpu, settings);
  return std::make_unique<RowRefiner>(operation, gpu, settings, near, near_samples);
}

}  // namespace dooly::profiling
