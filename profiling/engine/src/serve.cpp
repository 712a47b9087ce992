#include "profiling_engine/serve.hpp"

#include "engine_server.hpp"

#include "profiling_kernels/cuda.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include "oracle/kv_layout.hpp"
#include "schedulers/component.hpp"

#include <c10/core/InferenceMode.h>
#include <fmt/format.h>

#include <numeric>
#include <optional>
#include <utility>

namespace dooly::profiling {

namespace {

at::ScalarType scalar_type(const std::string& name, const oracle::ModelConfig& model) {
  const std::string_view dtype = name == "auto" ? oracle::dtype_name(model.dtype) : std::string_view(name);
  if (dtype == "bfloat16") return at::kBFloat16;
  if (dtype == "float16") return at::kHalf;
  if (dtype == "float32") return at::kFloat;
  throw ProfilingError(fmt::format("dtype: must be auto, bfloat16, float16 or float32, got '{}'", name));
}

c10::Device device_of(const std::string& name) {
  if (name == "cpu") return c10::DeviceType::CPU;
  if (name != "cuda") throw ProfilingError(fmt::format("device: must be cpu or cuda, got '{}'", name));
  load_cuda();
  return {c10::DeviceType::CUDA, 0};
}

replica::KvGroup kv_group(const oracle::KvCacheGroup& group) {
  using Kind = replica::KvGroup::Kind;
  replica::KvGroup out{.kind = Kind::kFull, .block_size = group.block_tokens, .window = group.window};
  if (group.kind == oracle::AttentionKind::kSlidingWindow) out.kind = Kind::kSlidingWindow;
  if (group.kind == oracle::AttentionKind::kChunkedLocal) out.kind = Kind::kChunkedLocal;
  return out;
}

std::uint64_t blocks_of(const replica::EngineConfig& engine, std::uint64_t tokens) {
  std::uint64_t blocks = 0;
  for (const replica::KvGroup& group : engine.groups) {
    const std::uint64_t all = (tokens + group.block_size - 1) / group.block_size;
    blocks += group.admission_cap > 0 ? std::min<std::uint64_t>(all, group.admission_cap) : all;
  }
  return blocks;
}

void check_workload(std::span<const ServeRequest> workload, const ServeOptions& options,
                    const replica::EngineConfig& engine) {
  for (std::size_t i = 0; i < workload.size(); ++i) {
    const ServeRequest& request = workload[i];
    const auto refuse = [&](const std::string& why) {
      throw ProfilingError(fmt::format("request {} of the workload ({} + {} tokens, at {} s): {}", i, request.prompt,
                                       request.output, request.arrival_s, why));
    };
    const std::uint64_t tokens = std::uint64_t{request.prompt} + request.output;
    if (request.prompt == 0 || request.output == 0) refuse("prompt and output must be at least 1");
    if (tokens > engine.max_model_len) refuse(fmt::format("longer than the model length {}", engine.max_model_len));
    if (blocks_of(engine, tokens) >= engine.num_blocks)
      refuse(fmt::format("needs more than the {} KV blocks", engine.num_blocks - 1));
    if (options.workers == 0 && i > 0 && request.arrival_s < workload[i - 1].arrival_s)
      refuse("arrives before the one listed before it");
  }
}

replica::EngineConfig engine_of(const ModelFile& model, const ServeOptions& options) {
  replica::EngineConfig engine = options.engine;
  if (engine.num_blocks < 2)
    throw ProfilingError(fmt::format("num_blocks: must be at least 2, got {}", engine.num_blocks));
  engine.max_model_len = std::min(engine.max_model_len, model.config.max_position);
  fit_to_model(engine, model.config, options.block_size);
  return engine;
}

}  // namespace

void fit_to_model(replica::EngineConfig& config, const oracle::ModelConfig& model, std::uint32_t block_size) {
  const oracle::KvCacheLayout layout = oracle::kv_cache_layout(model, 1, oracle::DType::kBfloat16, block_size);
  config.groups.clear();
  config.scheduler_block_size = 1;
  for (const oracle::KvCacheGroup& group : layout.groups) {
    config.groups.push_back(kv_group(group));
    config.scheduler_block_size = std::lcm(config.scheduler_block_size, group.block_tokens);
  }
  for (replica::KvGroup& group : config.groups) group.admission_cap = replica::admission_cap(group, config);
}

ServedRun serve(const ModelFile& model, std::span<const ServeRequest> workload, const ServeOptions& options,
                Kernels& kernels) {
  const c10::Device device = device_of(options.device);
  std::optional<c10::InferenceMode> inference;  // a GPU's steps are launched by this thread; a CPU's by another
  if (device.is_cuda()) inference.emplace();
  ModelSettings settings;
  settings.dtype = scalar_type(options.dtype, model.config);
  settings.device = device;
  settings.seed = options.seed;
  ServedRun run;
  run.name = options.name;
  run.model = model.config.name;
  run.device = options.device;
  run.dtype = c10::toString(settings.dtype);
  run.kernels = kernels.name();
  run.policy = options.policy;
  run.workers = options.workers;
  run.engine = engine_of(model, options);
  check_workload(workload, options, run.engine);
  for (const ServeRequest& request : workload) run.requests.emplace_back().request = request;
  if (options.resolved) options.resolved(run);
  const auto policy = schedulers::find_policy({.name = options.policy, .options = {}}).make();
  const ModelDims dims = dims_of(model.config, 1, run.engine.max_model_len, options.block_size, run.engine.num_blocks);
  const Model built(model.config, model.numbers, settings, dims, kernels);
  const bool captures = device.is_cuda() && kernels.can_be_captured() && !options.capture_sizes.empty();
  StepRunner runner(built, static_cast<std::uint32_t>(workload.size()), options.capture_sizes, captures,
                    run.engine.max_num_seqs);
  if (device.is_cuda()) {
    runner.warm_up(run.engine.max_num_batched_tokens,
                   std::min<std::uint32_t>(run.engine.max_num_seqs, static_cast<std::uint32_t>(workload.size())));
  }
  EngineServer(run, options, *policy, runner, model.config.vocabulary).serve();
  return run;
}

ServedRun serve(const std::filesystem::path& model, std::span<const ServeRequest> workload, const ServeOptions& options,
                const std::filesystem::path& folder) {
  const auto kernels = make_torch_kernels();
  const ServedRun run = serve(load_model(model), workload, options, *kernels);
  write_run(run, folder);
  write_decisions(run, folder);
  return run;
}

}  // namespace dooly::profiling
