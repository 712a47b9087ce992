#include "profiling_trace/trace_model.hpp"

#include "meta_operators.hpp"

#include "profiling_engine/last_tokens.hpp"
#include "profiling_engine/upload.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "profiling_trace/layer_fold.hpp"

#include <c10/core/InferenceMode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace dooly::profiling {

namespace {

struct NamedSize {
  const char* name;
  c10::SymInt ModelDims::*size;
};

constexpr std::array<NamedSize, 20> kModelSizes{{{"hidden_size", &ModelDims::hidden},
                                                 {"vocab_size", &ModelDims::vocabulary},
                                                 {"padded_vocab_size", &ModelDims::padded_vocabulary},
                                                 {"num_heads", &ModelDims::heads},
                                                 {"num_kv_heads", &ModelDims::kv_heads},
                                                 {"head_dim", &ModelDims::head_dim},
                                                 {"rotary_dim", &ModelDims::rotary_dim},
                                                 {"q_lora_rank", &ModelDims::q_lora_rank},
                                                 {"kv_lora_rank", &ModelDims::kv_lora_rank},
                                                 {"qk_nope_dim", &ModelDims::qk_nope_dim},
                                                 {"qk_rope_dim", &ModelDims::qk_rope_dim},
                                                 {"v_dim", &ModelDims::v_dim},
                                                 {"max_position", &ModelDims::positions},
                                                 {"intermediate_size", &ModelDims::intermediate},
                                                 {"num_experts", &ModelDims::experts},
                                                 {"num_experts_per_token", &ModelDims::experts_per_token},
                                                 {"expert_intermediate_size", &ModelDims::expert_intermediate},
                                                 {"shared_intermediate_size", &ModelDims::shared_intermediate},
                                                 {"block_size", &ModelDims::block_size},
                                                 {"num_blocks", &ModelDims::blocks}}};

/// The batch as the engine lays it out, each request with blocks of its own in each group.
std::vector<StepSequence> sequences_of(const TraceSettings& settings, std::size_t groups, std::uint32_t& next_block) {
  std::vector<StepSequence> sequences;
  for (const TraceRequest& request : settings.batch) {
    StepSequence sequence;
    sequence.tokens.assign(static_cast<std::size_t>(request.query), 1);
    sequence.computed = request.context;
    sequence.samples = request.samples;
    const std::int64_t blocks = (request.context + request.query + settings.block_size - 1) / settings.block_size;
    for (std::size_t group = 0; group < groups; ++group) {
      std::vector<std::uint32_t>& table = sequence.blocks.emplace_back();
      for (std::int64_t i = 0; i < blocks; ++i) table.push_back(next_block++);
    }
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

template <class Symbol>
LatentSizes tainted_sizes(const LatentSizes& plain, const Symbol& symbol) {
  LatentSizes sizes;
  sizes.tokens = symbol("num_tokens", plain.tokens);
  sizes.decodes = symbol("num_decodes", plain.decodes);
  sizes.decode_tokens = symbol("num_decode_tokens", plain.decode_tokens);
  sizes.prompts = symbol("num_prompts", plain.prompts);
  sizes.prompt_tokens = symbol("num_prompt_tokens", plain.prompt_tokens);
  sizes.context_queries = symbol("num_context_queries", plain.context_queries);
  for (std::size_t i = 0; i < plain.context_tokens.size(); ++i)
    sizes.context_tokens.push_back(symbol(fmt::format("num_context_tokens.{}", i), plain.context_tokens[i]));
  return sizes;
}

StepSizes tainted_sizes(const StepSizes& plain, bool is_latent, Tracer& tracer) {
  const auto symbol = [&](std::string_view name, const c10::SymInt& size) {
    return tracer.request_symbol(name, size.expect_int());
  };
  StepSizes sizes;
  sizes.tokens = symbol("num_tokens", plain.tokens);
  sizes.requests = symbol("num_requests", plain.requests);
  sizes.rows = symbol("num_logits_rows", plain.rows);
  for (std::size_t i = 0; i < plain.blocks.size(); ++i) {
    sizes.blocks.push_back(symbol(i == 0 ? "table_blocks" : fmt::format("table_blocks.{}", i), plain.blocks[i]));
  }
  if (is_latent) sizes.latent = tainted_sizes(plain.latent, symbol);
  return sizes;
}

ModelDims tainted_dims(const oracle::ModelConfig& config, const TraceSettings& settings, std::uint32_t blocks,
                       Tracer& tracer) {
  ModelDims dims = dims_of(config, settings.tensor_parallel, config.max_position, settings.block_size, blocks);
  for (const NamedSize& named : kModelSizes) {
    const std::int64_t value = (dims.*named.size).expect_int();
    if (value != 0) dims.*named.size = tracer.model_symbol(named.name, value);
  }
  if (settings.tensor_parallel > 1) {
    dims.tensor_parallel = tracer.model_symbol("tensor_parallel", settings.tensor_parallel);
  }
  return dims;
}

std::size_t group_count(const oracle::ModelConfig& config, const TraceSettings& settings) {
  std::size_t groups = 0;
  for (const KvPlace& place : kv_places(config, settings.tensor_parallel, settings.block_size)) {
    groups = std::max(groups, place.group + 1);
  }
  return groups;
}

/// The recorded pass and the timed ones are of one batch, so their operators are the same.
void add_times(Trace& trace, PassTimes times) {
  if (times.operators.size() != trace.operators.size()) {
    throw ProfilingError(fmt::format("the traced pass calls {} operators, the timed ones {}", trace.operators.size(),
                                     times.operators.size()));
  }
  for (std::size_t i = 0; i < trace.operators.size(); ++i) {
    trace.operators[i].seconds = times.operators[i].seconds;
    trace.operators[i].kernels = std::move(times.operators[i].kernels);
  }
  trace.seconds = times.seconds;
  trace.outside = std::move(times.outside);
}

}  // namespace

std::vector<TraceRequest> prefill_batch(bool large) {
  if (large) return {{1500, 0, true}, {700, 0, true}, {811, 1600, false}};
  return {{7, 0, true}, {23, 0, true}, {11, 16, false}};
}

std::vector<TraceRequest> decode_batch(bool large) {
  if (!large) return {{1, 40, true}, {1, 3, true}, {1, 17, true}, {1, 100, true}, {1, 64, false}};
  std::vector<TraceRequest> batch;
  constexpr std::int64_t kRequests = 64, kShortest = 200, kStep = 25;
  for (std::int64_t i = 0; i < kRequests; ++i) batch.push_back({1, kShortest + kStep * i, i > 0});
  return batch;
}

std::vector<TraceRequest> mixed_batch(bool large) {
  if (!large) return {{1, 33, true}, {90, 0, false}, {1, 9, true}, {29, 48, true}};
  std::vector<TraceRequest> batch;  // decodes first, as FlashInfer needs them
  constexpr std::int64_t kDecodes = 32, kShortest = 130, kStep = 35;
  for (std::int64_t i = 0; i < kDecodes; ++i) batch.push_back({1, kShortest + kStep * i, true});
  batch.push_back({640, 0, false});
  batch.push_back({387, 512, true});
  return batch;
}

namespace {

/// What is traced: the model, and what the engine does around it.
class Pass {
 public:
  Pass(const oracle::ModelConfig& config, const ModelNumbers& numbers, Kernels& kernels, const TraceSettings& settings)
      : settings_(settings),
        groups_(group_count(config, settings)),
        sequences_(sequences_of(settings, groups_, blocks_)),
        tracer_(settings.tracer),
        model_(config, numbers, model_settings(settings),
               tainted_dims(config, settings, std::max(blocks_, settings.blocks), tracer_), kernels),
        cache_(model_.make_cache()),
        last_(static_cast<std::int64_t>(settings.batch.size()), settings.device) {
    step_.block_size = settings.block_size;
    step_.groups = static_cast<std::uint32_t>(groups_);
    step_.device = settings.device;
    step_.latent = model_.latent_rules();
  }

  Trace record() {
    const StepSizes plain = sizes_of(sequences_, step_);
    inputs_ = make_step_inputs(sequences_, step_, tainted_sizes(plain, step_.latent.has_value(), tracer_));
    plan_attention();
    tracer_.start_recording();
    (void)model_.step(inputs_, cache_);
    return tracer_.finish();
  }

  /// As recorded, and on a GPU as the engine runs it.
  void run() {
    if (!settings_.device.is_cuda()) return (void)model_.step(inputs_, cache_);
    {
      const c10::impl::ExcludeDispatchKeyGuard unseen(c10::DispatchKey::TESTING_ONLY_GenericMode);
      StepInputs fresh = make_step_inputs(sequences_, step_);
      model_.plan_attention(fresh);
      last_.read(fresh.ids, fresh.rows, rows_on_device());
      (void)rows_on_device();
    }
    const at::Tensor sampled = model_.step(inputs_, cache_);
    const c10::impl::ExcludeDispatchKeyGuard unseen(c10::DispatchKey::TESTING_ONLY_GenericMode);
    last_.keep(rows_on_device(), sampled);
    (void)sampled.cpu();
  }

 private:
  static ModelSettings model_settings(const TraceSettings& settings) {
    ModelSettings made;
    made.dtype = settings.dtype;
    made.device = settings.device;
    if (settings.clock == nullptr) made.weights = ModelSettings::Weights::kZero;
    return made;
  }

  /// How long a plan is, the kernels' library decides.
  void plan_attention() {
    model_.plan_attention(inputs_);
    const auto name_schedule = [&](const at::Tensor& schedule) {
      if (!schedule.defined()) return;
      constexpr const char* kName = "attention_schedule";
      (void)tracer_.request_symbol(kName, schedule.size(0));
      tracer_.mode().label(schedule, {Expression::symbol(kName, Origin::kRequest)});
    };
    for (const AttentionMetadata& group : inputs_.groups) name_schedule(group.schedule);
    if (inputs_.latent) name_schedule(inputs_.latent->decodes.schedule);
  }

  /// Who samples: the same copy that brings the engine its requests' numbers.
  at::Tensor rows_on_device() const {
    std::vector<std::int64_t> rows;
    for (std::size_t i = 0; i < sequences_.size(); ++i)
      if (sequences_[i].samples) rows.push_back(static_cast<std::int64_t>(i));
    return upload(rows, settings_.device);
  }

  const TraceSettings& settings_;
  std::size_t groups_;
  std::uint32_t blocks_ = 1;  ///< behind the null block
  std::vector<StepSequence> sequences_;
  Tracer tracer_;
  Model model_;
  KvTensors cache_;
  LastTokens last_;
  StepSettings step_;
  StepInputs inputs_;
};

}  // namespace

Trace trace_model(const oracle::ModelConfig& config, const ModelNumbers& numbers, Kernels& kernels,
                  const TraceSettings& settings) {
  const c10::InferenceMode inference;
  register_meta_operators();
  const LayerFold fold = settings.each_layer_once ? distinct_layers(config) : LayerFold{};
  Pass pass(settings.each_layer_once ? with_layers(config, fold.kept) : config, numbers, kernels, settings);
  Trace trace = pass.record();
  if (settings.clock != nullptr) add_times(trace, time_passes(*settings.clock, [&] { pass.run(); }));
  if (settings.each_layer_once) unfold(trace, fold);
  return trace;
}

}  // namespace dooly::profiling
