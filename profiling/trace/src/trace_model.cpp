#include "profiling_trace/trace_model.hpp"

#include "meta_operators.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <c10/core/InferenceMode.h>
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

constexpr std::array<NamedSize, 15> kModelSizes{{{"hidden_size", &ModelDims::hidden},
                                                 {"vocab_size", &ModelDims::vocabulary},
                                                 {"padded_vocab_size", &ModelDims::padded_vocabulary},
                                                 {"num_heads", &ModelDims::heads},
                                                 {"num_kv_heads", &ModelDims::kv_heads},
                                                 {"head_dim", &ModelDims::head_dim},
                                                 {"rotary_dim", &ModelDims::rotary_dim},
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

StepSizes tainted_sizes(const StepSizes& plain, Tracer& tracer) {
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

std::vector<TraceRequest> prefill_batch() { return {{7, 0, true}, {23, 0, true}, {11, 16, false}}; }
std::vector<TraceRequest> decode_batch() {
  return {{1, 40, true}, {1, 3, true}, {1, 17, true}, {1, 100, true}, {1, 64, false}};
}
std::vector<TraceRequest> mixed_batch() { return {{1, 33, true}, {90, 0, false}, {1, 9, true}, {29, 48, true}}; }

Trace trace_model(const oracle::ModelConfig& config, const ModelNumbers& numbers, Kernels& kernels,
                  const TraceSettings& settings) {
  const c10::InferenceMode inference;
  register_meta_operators();
  const std::size_t groups = group_count(config, settings);
  std::uint32_t blocks = 1;  // behind the null block
  const std::vector<StepSequence> sequences = sequences_of(settings, groups, blocks);

  Tracer tracer(settings.tracer);
  constexpr std::uint32_t kBlocks = 1024;  // the same in all passes: the engine decides it, no request
  const ModelDims dims = tainted_dims(config, settings, std::max(blocks, kBlocks), tracer);
  ModelSettings model_settings;
  model_settings.dtype = settings.dtype;
  model_settings.device = settings.device;
  if (settings.clock == nullptr) model_settings.weights = ModelSettings::Weights::kZero;
  const Model model(config, numbers, model_settings, dims, kernels);
  KvTensors cache = model.make_cache();
  StepSettings step;
  step.block_size = settings.block_size;
  step.groups = static_cast<std::uint32_t>(groups);
  step.device = settings.device;
  const StepInputs inputs = make_step_inputs(sequences, step, tainted_sizes(sizes_of(sequences), tracer));

  tracer.start_recording();
  (void)model.step(inputs, cache);
  Trace trace = tracer.finish();
  if (settings.clock != nullptr)
    add_times(trace, time_passes(*settings.clock, [&] { (void)model.step(inputs, cache); }));
  return trace;
}

}  // namespace dooly::profiling
