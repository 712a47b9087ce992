#include "sweep_progress.hpp"

#include "oracle_store/record.hpp"
#include "reports.hpp"

#include <fmt/format.h>

namespace dooly::profiling {

void SweepProgressLine::progress(const SweepProgress& progress) {
  line_.show([&](bool with_bar) { return progress_text(progress, with_bar); });
}

void SweepProgressLine::measured(const Operation& operation, const oracle::Sample& sample) {
  if (sample.status == oracle::SampleStatus::kOk) return;
  clear();
  terminal_.warning(fmt::format("{} at {}: {}{}", short_title(operation.key), store::point_text(sample.point),
                                store::status_name(sample.status), sample.note.empty() ? "" : ", " + sample.note));
}

}  // namespace dooly::profiling
