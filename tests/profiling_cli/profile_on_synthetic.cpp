#include "cli_error.hpp"
#include "profile_program.hpp"
#include "synthetic_measurer.hpp"

#include <chrono>
#include <thread>

namespace {

using namespace dooly::profiling;

MeasurerFactory device(std::chrono::milliseconds per_point) {
  return [per_point]() -> std::unique_ptr<Measurer> {
    auto made = std::make_unique<SyntheticMeasurer>();
    made->before = [per_point](const dooly::oracle::OperatorKey&, dooly::oracle::Sample&) {
      std::this_thread::sleep_for(per_point);
    };
    return made;
  };
}

/// What a trace may find, by the name of the model.
TraceReport trace(const TraceRequestOptions& options) {
  TraceReport report;
  report.text = "traced " + options.config + " for " + options.backend + " on " + options.device + "\n";
  report.json = "{}\n";
  report.coverage = options.config == "low" ? 0.9 : 0.99;
  if (options.config == "unlabelled") report.unlabelled.assign(30, "aten::view result 0 dimension 1 of size 64");
  if (options.config == "contradictory") report.contradictions = {"aten::linear in mlp: x dimension 0 is 3, then 4"};
  return report;
}

ServeFigures refuse_to_serve(const ServeJob& job) {
  throw dooly::cli::UsageError(job.config.string() + ": cannot be served");
}

/// Says what it was asked; a batch of more than 100 requests cannot be studied.
void study(const StepJob& job, const StepListener& hear) {
  for (const StepJob::Batch& batch : job.batches) {
    if (batch.requests > 100) throw dooly::cli::CannotFinish("the KV cache is too small");
    const std::string asked = std::to_string(batch.requests) + " at " + std::to_string(batch.context);
    hear(asked + "\n", "{\"batch\":\"" + asked + "\"}");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return run_profile(argc, argv,
                     {{"fast", [](const MeasurerChoice&) { return device(std::chrono::milliseconds(0)); }},
                      {"slow", [](const MeasurerChoice&) { return device(std::chrono::milliseconds(20)); }}},
                     refuse_to_serve, trace, study);
}
