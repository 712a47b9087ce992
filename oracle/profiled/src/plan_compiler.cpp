#include "plan_compiler.hpp"

#include "attention_neighbours.hpp"
#include "expert_curve.hpp"
#include "fitted_roofline.hpp"
#include "oracle/kernel_families.hpp"
#include "oracle/operator_keys.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle_profiled/entry_work.hpp"
#include "oracle_profiled/fused_norm.hpp"
#include "oracle_profiled/measurement_error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <set>

namespace dooly::oracle {
namespace {

/// Of a collective by another library: 64 KiB of two GPUs take 4.8 us by vLLM's own kernel, 7.4 by NCCL
/// (AIConfigurator's tables of an H200).
constexpr double kOtherCollectiveError = 0.5;

/// What changes a kernel's arithmetic but hardly its time: the factor of the scores, a weight per head in their sum.
OperatorKey without_details(OperatorKey key) {
  for (const char* detail : {"scale", "sinks"}) key.attributes.erase(detail);
  return key;
}

/// Whether linears were timed at a known clock.
bool says_regime(const std::vector<SampleSet>& sets) {
  return std::none_of(sets.begin(), sets.end(), [](const SampleSet& set) {
    return set.key.kind == "linear" && std::any_of(set.samples.begin(), set.samples.end(),
                                                   [](const Sample& s) { return s.regime == ClockRegime::kUnknown; });
  });
}

}  // namespace

PlanCompiler::PlanCompiler(CompiledPlan& out, std::span<const SampleSource* const> sources, const Gpu& gpu,
                           const CompileSettings& settings)
    : out_(out),
      gpu_(gpu),
      settings_(settings) {
  if (settings.fitted && !is_processor(gpu)) times_ = KernelTimes::fitted(gpu);
  for (const SampleSource* source : sources) sources_.emplace_back(*source);
}

void PlanCompiler::compile(const StepPlan& plan) {
  tensor_parallel_ = plan.tensor_parallel;
  std::vector<PlanEntry> entries = plan.entries;
  use_modules(plan, entries);
  for (const PlanEntry& entry : entries)
    if (entry.key.kind == "mla_attention") out_.longest_absorbed_ = longest_absorbed(entry.key.family);
  for (const PlanEntry& entry : entries) entry.binding == Binding::kAttention ? add_attention(entry) : add_rows(entry);
  if (settings_.use_roofline) return;
  std::set<std::string> missing;
  for (const OperatorAnswer& answer : out_.answers_)
    if (answer.source < 0) missing.insert(answer.name + " (" + answer.key.kind + ", " + answer.key.family + ")");
  if (missing.empty()) return;
  throw OracleError(fmt::format("no source answers {} of {} operators and there is no roofline behind them: {}",
                                missing.size(), out_.answers_.size(), fmt::join(missing, ", ")));
}

PlanCompiler::Found PlanCompiler::find(const Signature& signature) const {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    std::vector<Sample> samples = sources_[i].usable(signature);
    if (!samples.empty()) return {static_cast<int>(i), std::move(samples), {}};
  }
  return {};
}

/// Samples of the signature, else of attention that differs in details alone, else of one with other heads.
PlanCompiler::Found PlanCompiler::find_attention(const PlanEntry& entry) {
  Found own = find(entry.signature);
  if (own.source >= 0) return own;
  const OperatorKey wanted = without_details(entry.key);
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    for (const SampleSet& set : sources_[i].sets()) {
      if (without_details(set.key) != wanted) continue;
      std::vector<Sample> samples = sources_[i].usable(set.signature);
      if (samples.empty()) continue;
      const bool has_other_sinks = set.key.attributes.contains("sinks") != entry.key.attributes.contains("sinks");
      return {static_cast<int>(i), std::move(samples),
              !has_other_sinks                         ? "measured with another scale"
              : entry.key.attributes.contains("sinks") ? "measured without sinks"
                                                       : "measured with sinks"};
    }
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    NeighbourSamples other = attention_of_other_heads(sources_[i].sets(), entry.key);
    if (!other.samples.empty())
      return {static_cast<int>(i), std::move(other.samples), std::move(other.note), kNeighbourError};
  }
  return {};
}

/// A module stands for its entries where it is measured and one of them is not.
void PlanCompiler::use_modules(const StepPlan& plan, std::vector<PlanEntry>& entries) {
  for (const PlanModule& module : plan.modules) {
    if (find(module.signature).source < 0) continue;
    const auto is_part = [&](const PlanEntry& entry) {
      return std::find(module.replaces.begin(), module.replaces.end(), entry.name) != module.replaces.end();
    };
    const bool has_all = std::all_of(entries.begin(), entries.end(), [&](const PlanEntry& entry) {
      return !is_part(entry) || find(entry.signature).source >= 0;
    });
    if (has_all) continue;
    std::erase_if(entries, is_part);
    PlanEntry whole;
    whole.name = module.name;
    whole.key = module.key;
    whole.signature = module.signature;
    whole.binding = Binding::kAttention;
    whole.count = module.count;
    entries.push_back(std::move(whole));
  }
}

void PlanCompiler::report(const PlanEntry& entry, OperatorAnswer answer) {
  answer.name = entry.name;
  answer.key = entry.key;
  answer.signature = entry.signature;
  answer.binding = entry.binding;
  answer.count = entry.count;
  out_.answers_.push_back(std::move(answer));
}

void PlanCompiler::add_attention(const PlanEntry& entry) {
  OperatorAnswer answer;
  Found found = find_attention(entry);
  AttentionModel::Limits limits{settings_.max_num_seqs, double(1 << 20), settings_.clock};
  const AttentionRoofline work = attention_roofline(entry.key, gpu_, settings_.efficiency);
  if (found.source < 0 && times_) {
    found.samples = fitted_roofline(work, settings_.efficiency, *times_, settings_.max_num_seqs, 1u << 17);
    found.least_error = kRooflineError;
  }
  AttentionModel model(found.samples, work, limits);
  answer.clock_slowdown = model.mean_prefill_factor();
  answer.source = found.source;
  answer.points = found.source < 0 ? 0 : model.points();
  answer.fold_error = found.source < 0 ? 0 : model.fold_error();
  answer.best = found.source < 0 ? Origin::kRoofline : found.note.empty() ? Origin::kMeasured : Origin::kInterpolated;
  answer.note = found.note;
  const double least_error = found.source < 0     ? found.least_error
                             : found.note.empty() ? 0
                                                  : std::max(answer.fold_error, found.least_error);
  out_.attention_.push_back({std::move(model), double(entry.count), answer.best, least_error});
  report(entry, std::move(answer));
}

RowWork PlanCompiler::work_of(const PlanEntry& entry) const {
  const double link = settings_.link_bandwidth > 0 ? settings_.link_bandwidth : gpu_.link_bandwidth;
  return entry_work(entry, gpu_, settings_.efficiency, link, tensor_parallel_);
}

void PlanCompiler::add_rows(const PlanEntry& entry) {
  OperatorAnswer answer;
  const RowWork work = work_of(entry);
  CompiledPlan::RowOperator op;
  RowSlowdown slower(1 + settings_.clock.slowdown, 1 + settings_.clock.slowdown_memory);
  op.curve = curve_of(entry, work, answer, slower);
  op.count = entry.count;
  op.slower = slower;
  answer.clock_slowdown = slower.computing();
  op.collective = entry.binding == Binding::kCollective;
  op.scale = op.collective ? entry.bytes_per_token : entry.rows_per_token;
  if (answer.source >= 0) {
    if (answer.points == 0) answer.points = op.curve.points().size();
    answer.fold_error = op.curve.fold_error();
  }
  switch (entry.binding) {
    case Binding::kLogitsRows: out_.by_rows_.push_back(std::move(op)); break;
    case Binding::kDecodeTokens: out_.by_decodes_.push_back(std::move(op)); break;
    case Binding::kPrefillTokens: out_.by_prefill_tokens_.push_back(std::move(op)); break;
    case Binding::kCollective: (entry.per_row ? out_.by_rows_ : out_.by_tokens_).push_back(std::move(op)); break;
    default: out_.by_tokens_.push_back(std::move(op)); break;
  }
  report(entry, std::move(answer));
}

WorkCurve PlanCompiler::curve_of(const PlanEntry& entry, const RowWork& work, OperatorAnswer& answer,
                                 RowSlowdown& slower) {
  Found found = find(entry.signature);
  if (found.source >= 0) {
    answer.source = found.source;
    answer.best = Origin::kMeasured;
    if (entry.key.kind == "all_reduce") extend_custom_all_reduce(entry, found.samples, answer);
    return fit(entry, found.samples, work, answer, slower);
  }
  WorkCurve curve;
  if (entry.key.kind == "linear" && linear_from_neighbours(entry, answer, slower, curve)) return curve;
  if (entry.key.kind == "rms_norm" && norm_from_parts(entry, work, answer, slower, curve)) return curve;
  if (entry.binding == Binding::kCollective && collective_of_other_family(entry, work, answer, slower, curve))
    return curve;
  return roofline_of(entry, work);
}

WorkCurve PlanCompiler::roofline_of(const PlanEntry& entry, const RowWork& work) const {
  if (!times_ || entry.binding == Binding::kCollective) return WorkCurve({}, work);
  return fitted_roofline(work, settings_.efficiency, *times_, kernel_kind(entry));
}

ExpertPoints PlanCompiler::points_of(const PlanEntry& entry, const std::vector<Sample>& samples, bool sustained,
                                     const RowWork& work, OperatorAnswer& answer) const {
  std::vector<Sample> of_clock;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(of_clock),
               [&](const Sample& s) { return (s.regime == ClockRegime::kSustained) == sustained; });
  ExpertPoints out;
  if (entry.binding == Binding::kExperts) {
    out = expert_points(entry.key, of_clock, settings_.routing, work, settings_.efficiency.kernel_seconds);
    if (out.routing != settings_.routing) answer.note = "of another expert routing";
    return out;
  }
  for (const Sample& s : of_clock)
    out.points.push_back({double(s.point[0]), s.median_s, kernels_mark(s), measurement_error(s)});
  return out;
}

WorkCurve PlanCompiler::fit(const PlanEntry& entry, const std::vector<Sample>& samples, const RowWork& work,
                            OperatorAnswer& answer, RowSlowdown& slower) const {
  auto [cool, routing, are_in_tiles] = points_of(entry, samples, false, work, answer);
  std::vector<WorkCurve::Point> hot = points_of(entry, samples, true, work, answer).points;
  if (entry.binding == Binding::kCollective) {
    cool.insert(cool.end(), hot.begin(), hot.end());
    return WorkCurve(std::move(cool), work);
  }
  SustainedOverCool<double> both;
  for (const WorkCurve::Point& p : cool) both.add_cool(p.x, p.seconds);
  for (const WorkCurve::Point& p : hot) both.add_sustained(p.x, p.seconds);
  slower.measured(both.ratios(), work);
  if (cool.empty()) {
    for (WorkCurve::Point& p : hot) p.seconds /= slower.factor(work, p.x);
    return WorkCurve(std::move(hot), work);
  }
  WorkCurve curve;
  if (are_in_tiles) {
    const WorkCurve measured(std::move(cool), balanced_work(work, entry.key));
    answer.points = measured.points().size();
    curve = under_random_router(measured, work);
  } else {
    curve = WorkCurve(std::move(cool), work);
  }
  const bool says_regime =
      std::any_of(samples.begin(), samples.end(), [](const Sample& s) { return s.regime != ClockRegime::kUnknown; });
  return says_regime ? curve : on_cool_device(std::move(curve));
}

/// A curve as it would be without the heat of the repetitions it was timed in.
WorkCurve PlanCompiler::on_cool_device(WorkCurve curve) const {
  if (!(settings_.clock.profile_repeats > 0)) return curve;
  const ClockTerms& clock = settings_.clock;
  const RowWork& work = curve.work();
  curve.rescale([&](const WorkCurve::Point& p) {
    const double longer = work.clock_factor(p.x, 1 + clock.slowdown, 1 + clock.slowdown_memory) - 1;
    return clock.cool_seconds(p.seconds, longer);
  });
  return curve;
}

bool PlanCompiler::linear_from_neighbours(const PlanEntry& entry, OperatorAnswer& answer, RowSlowdown& slower,
                                          WorkCurve& curve) {
  if (entry.key.dims.size() != 2) return false;
  OperatorKey plain = entry.key;
  plain.attributes.erase("bias");
  if (plain != entry.key) {
    const Found found = find(signature_of(plain));
    if (found.source >= 0) {
      curve = fit(entry, found.samples, work_of(entry), answer, slower);
      curve.relabel(Origin::kInterpolated, curve.fold_error());
      answer.source = found.source;
      answer.best = Origin::kInterpolated;
      answer.note = "measured without bias";
      return true;
    }
  }
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const std::string name = fmt::format("{} {} {}", i, fmt::join(entry.key.dtypes, " "), entry.key.family);
    std::unique_ptr<LinearSurface>& surface = surfaces_[name];
    if (!surface) surface = std::make_unique<LinearSurface>(sources_[i].sets(), entry.key, gpu_, settings_.efficiency);
    const auto found = surface->at(entry.key.dims[0], entry.key.dims[1]);
    if (!found) continue;
    curve = says_regime(sources_[i].sets()) ? *found : on_cool_device(*found);
    answer.source = static_cast<int>(i);
    answer.best = curve.at(curve.points().front().x).origin;
    answer.note = fmt::format("from {} linears of other sizes", surface->sizes());
    return true;
  }
  return false;
}

/// The engine's fused add + norm from the two that others measure.
bool PlanCompiler::norm_from_parts(const PlanEntry& entry, const RowWork& work, OperatorAnswer& answer,
                                   const RowSlowdown& slower, WorkCurve& curve) const {
  if (!entry.key.attributes.contains("residual")) return false;
  PlanEntry norm = entry, addition = entry;
  norm.key.attributes.erase("residual");
  addition.key = elementwise_key("add", entry.key.dtypes.at(0), entry.key.dims.at(0));
  const Found of_norm = find(signature_of(norm.key)), of_addition = find(signature_of(addition.key));
  if (of_norm.source < 0 || of_addition.source < 0) return false;
  const auto part = [&](const PlanEntry& measured, const Found& found) {
    OperatorAnswer ignored;
    RowSlowdown its_own = slower;
    return fit(measured, found.samples, work, ignored, its_own);
  };
  WorkCurve fused = fused_norm(part(norm, of_norm), part(addition, of_addition), work);
  if (fused.empty()) return false;
  curve = std::move(fused);
  answer.source = of_norm.source;
  answer.best = Origin::kInterpolated;
  answer.note = "from a norm and an addition, measured apart";
  return true;
}

/// vLLM's own all-reduce ends at its limit; longer messages go through NCCL.
void PlanCompiler::extend_custom_all_reduce(const PlanEntry& entry, std::vector<Sample>& samples,
                                            OperatorAnswer& answer) {
  if (entry.key.family != "vllm-custom") return;
  OperatorKey nccl = entry.key;
  nccl.family = "nccl";
  const Found longer = find(signature_of(nccl));
  std::uint64_t largest = 0;
  for (const Sample& s : samples) largest = std::max(largest, s.point[0]);
  std::size_t added = 0;
  for (const Sample& s : longer.samples) {
    if (s.point[0] <= largest) continue;
    samples.push_back(s);
    ++added;
  }
  if (added > 0) answer.note = fmt::format("nccl above {} bytes", largest);
}

bool PlanCompiler::collective_of_other_family(const PlanEntry& entry, const RowWork& work, OperatorAnswer& answer,
                                              RowSlowdown& slower, WorkCurve& curve) {
  for (const char* family : {"nccl", "vllm-custom"}) {
    for (const char* dtype : {"", "bfloat16", "float16"}) {  // what counts is bytes
      OperatorKey other = entry.key;
      other.family = family;
      if (*dtype != 0 && !other.dtypes.empty()) other.dtypes[0] = dtype;
      const Found found = find(signature_of(other));
      if (found.source < 0) continue;
      curve = fit(entry, found.samples, work, answer, slower);
      curve.relabel(Origin::kInterpolated, std::max(curve.fold_error(), kOtherCollectiveError));
      answer.source = found.source;
      answer.best = Origin::kInterpolated;
      answer.note = fmt::format("measured as {} {}", family, other.dtypes.empty() ? "" : other.dtypes[0]);
      return true;
    }
  }
  return false;
}

}  // namespace dooly::oracle
