#include "expert_times.hpp"
#include "llmservingsim_writer.hpp"
#include "size_curve.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::import_ {
namespace {

using oracle::Sample;

constexpr const char* kHeader = "tokens,activated_experts,time_us";

bool tells_experts(const Sample& sample) { return sample.point[1] > 0; }

std::string row(const Sample& sample, const MoreColumns& more, const char* predicted) {
  return fmt::format("{},{},{}{}", sample.point[0], sample.point[1], us(sample.median_s),
                     more.cells(sample, predicted));
}

/// The router's product and its choice, which LLMServingSim counts as part of the experts' block.
std::vector<oracle::WorkCurve> router_curves(const TensorParallelFolder& folder) {
  std::vector<oracle::WorkCurve> curves;
  for (const char* name : {"gate", "topk_softmax"}) {
    const auto layer = folder.layers.find(name);
    if (layer == folder.layers.end()) continue;
    const auto samples = folder.context.samples(layer->second);
    if (samples.empty())
      folder.context.missing(fmt::format("{} (tp{})", name, folder.tensor_parallel));
    else
      curves.push_back(size_curve(layer->second, samples, *folder.gpu));
  }
  return curves;
}

/// Upstream's grid: powers of two of both, what one token chooses, and all experts.
std::vector<std::uint64_t> expert_numbers(const ExpertTimes& times) {
  std::vector<std::uint64_t> numbers{times.top_k()};
  for (std::uint64_t experts = 1; experts < times.experts(); experts *= 2)
    if (experts > times.top_k()) numbers.push_back(experts);
  if (times.experts() > times.top_k()) numbers.push_back(times.experts());
  return numbers;
}

std::vector<Sample> predictions(const TensorParallelFolder& folder, const ExpertTimes& times) {
  const std::vector<oracle::WorkCurve> router = router_curves(folder);
  std::vector<Sample> out;
  for (std::uint64_t tokens = 1; tokens <= times.most_tokens(); tokens *= 2)
    for (const std::uint64_t experts : expert_numbers(times)) {
      if (experts > tokens * times.top_k()) break;
      double seconds = times.seconds(tokens, experts);
      for (const oracle::WorkCurve& curve : router) seconds += curve.at(static_cast<double>(tokens)).seconds;
      out.push_back(prediction({tokens, experts}, seconds));
    }
  return out;
}

void write_measured(const TensorParallelFolder& folder, std::vector<Sample> samples) {
  const auto unknown = std::erase_if(samples, [](const Sample& sample) { return !tells_experts(sample); });
  if (unknown > 0) folder.context.report.left_out["experts without their activated number"] += unknown;
  if (samples.empty()) return;
  const MoreColumns more(samples, folder.usual_count);
  std::string text = kHeader + more.header();
  for (const Sample& sample : samples) text += row(sample, more, "");
  folder.context.write(folder.path / "moe.csv", text);
}

void write_predicted(const TensorParallelFolder& folder, const ExpertTimes& times, std::size_t samples) {
  if (samples > times.points())
    folder.context.report.left_out["experts of uneven loads, which the layout cannot hold"] += samples - times.points();
  if (times.points() == 0) return;
  const std::vector<Sample> rows = predictions(folder, times);
  const MoreColumns more({}, folder.usual_count, true);
  std::string text = kHeader + more.header();
  for (const Sample& sample : rows) text += row(sample, more, "moe");
  folder.context.write(folder.path / "moe.csv", text);
  folder.context.note(
      fmt::format("{}: {} predictions from {} samples of balanced routing and of the router; column "
                  "predicted_operators names them",
                  (folder.path / "moe.csv").string(), rows.size(), times.points()));
}

}  // namespace

void write_moe(const TensorParallelFolder& folder) {
  const auto layer = folder.layers.find("moe");
  if (layer == folder.layers.end()) return;
  std::vector<Sample> samples = folder.context.samples(layer->second);
  if (samples.empty()) return folder.context.missing(fmt::format("moe (tp{})", folder.tensor_parallel));
  const bool has_measured = std::any_of(samples.begin(), samples.end(), tells_experts);
  const bool are_all_here = !layer->second.attributes.contains("experts");
  if (has_measured || folder.gpu == nullptr || !are_all_here) return write_measured(folder, std::move(samples));
  write_predicted(folder, ExpertTimes(layer->second, samples, *folder.gpu), samples.size());
}

}  // namespace dooly::import_
