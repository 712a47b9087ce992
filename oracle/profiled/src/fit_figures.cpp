#include "oracle_profiled/fit_figures.hpp"

#include "oracle_profiled/compiled_plan.hpp"

namespace dooly::oracle {
namespace {

class OneSignature final : public SampleSource {
 public:
  OneSignature(const OperatorKey& key, const std::vector<Sample>& samples) : set_{key, signature_of(key), samples} {}
  std::vector<Sample> samples(const Signature& signature) const override {
    return signature == set_.signature ? set_.samples : std::vector<Sample>{};
  }
  std::vector<SampleSet> sets() const override { return {set_}; }
  std::string describe() const override { return "one signature"; }

 private:
  SampleSet set_;
};

}  // namespace

Binding binding_of(const OperatorKey& key) {
  const std::string request = key.request_dims.empty() ? "" : key.request_dims.front();
  if (request == "batch") return Binding::kAttention;
  if (request == "bytes") return Binding::kCollective;
  return key.kind == "moe_experts" ? Binding::kExperts : Binding::kTokens;
}

FitFigures fit_figures(const OperatorKey& key, const std::vector<Sample>& samples, const Gpu& gpu) {
  const OneSignature source(key, samples);
  StepPlan plan;
  PlanEntry entry;
  entry.key = key;
  entry.signature = signature_of(key);
  entry.binding = binding_of(key);
  plan.entries.push_back(entry);
  CompileSettings small;
  small.max_num_batched_tokens = small.max_num_seqs = 1;
  const SampleSource* sources[] = {&source};
  const CompiledPlan compiled(plan, sources, gpu, small);
  const OperatorAnswer& answer = compiled.operators().front();
  return {answer.points, answer.fold_error};
}

}  // namespace dooly::oracle
