#include "profiling_engine/step_study.hpp"

#include "profiling_measure/device_records.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace dooly::profiling {

namespace {

std::string us(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

std::string kernel_columns(const StudyKernels& kernels) {
  return fmt::format("{:>9} {:>9} {:>9} {:>9} {:>9} {:>9}", us(kernels.alone), us(kernels.inside), us(kernels.cold),
                     us(kernels.touched), us(kernels.pages), us(kernels.near));
}

std::string row(const StudyPart& part) {
  std::string text = fmt::format("  {:<28} {:>5} {:>9} {:>9} {}\n", part.kind, part.calls, us(part.alone),
                                 us(part.missed), kernel_columns(part.kernels));
  if (part.by_kernel.size() < 2) return text;
  for (const auto& [name, kernels] : part.by_kernel)
    text += fmt::format("    {:<45.45} {}\n", kernel_text(name), "    " + kernel_columns(kernels));
  return text;
}

nlohmann::json kernels_json(const StudyKernels& kernels) {
  return {{"alone", kernels.alone},     {"inside", kernels.inside}, {"cold", kernels.cold},
          {"touched", kernels.touched}, {"pages", kernels.pages},   {"near", kernels.near}};
}

}  // namespace

std::string study_text(const StepStudy& study) {
  std::string text = fmt::format(
      "{} decodes at {} tokens: the engine's step {} us, its captured part {} ({:.0f} MHz), rebuilt {}; kernels {} and "
      "gaps {} by CUPTI\n",
      study.batch.requests, study.batch.context, us(study.engine), us(study.graph), study.clock_mhz, us(study.rebuilt),
      us(study.kernels), us(study.gaps));
  text += fmt::format("  {:<28} {:>5} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}\n", "us a step", "calls", "alone",
                      "missed", "kernels:", "inside", "cold", "touched", "pages", "near");
  StudyPart all;
  all.kind = "all";
  for (const StudyPart& part : study.parts) {
    text += row(part);
    all.calls += part.calls;
    all.alone += part.alone;
    all.missed += part.missed;
    all.kernels += part.kernels;
  }
  return text + row(all);
}

std::string study_json(const StepStudy& study) {
  nlohmann::json parts = nlohmann::json::array();
  for (const StudyPart& part : study.parts) {
    nlohmann::json row = {{"kind", part.kind},
                          {"calls", part.calls},
                          {"alone", part.alone},
                          {"missed", part.missed},
                          {"kernels", kernels_json(part.kernels)}};
    for (const auto& [name, kernels] : part.by_kernel) {
      row["by_kernel"].push_back({{"kernel", name}, {"seconds", kernels_json(kernels)}});
    }
    parts.push_back(std::move(row));
  }
  const nlohmann::json row = {{"requests", study.batch.requests},
                              {"context", study.batch.context},
                              {"engine", study.engine},
                              {"graph", study.graph},
                              {"rebuilt", study.rebuilt},
                              {"kernels", study.kernels},
                              {"gaps", study.gaps},
                              {"clock_mhz", study.clock_mhz},
                              {"parts", std::move(parts)}};
  return row.dump();
}

}  // namespace dooly::profiling
