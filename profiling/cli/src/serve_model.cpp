#include "serve_model.hpp"

#include "cli_error.hpp"

#include "oracle/cuda_graphs.hpp"
#include "profiling_engine/host_times.hpp"
#include "profiling_engine/serve.hpp"
#include "profiling_kernels/kernels.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "schedulers/component_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace dooly::profiling {
namespace {

std::vector<ServeRequest> workload_of(const ServeJob& job) {
  std::vector<ServeRequest> workload;
  for (const ServeJobRequest& request : job.workload) {
    ServeRequest& made = workload.emplace_back();
    made.arrival_s = request.arrival_s;
    made.prompt = request.prompt;
    made.output = request.output;
    made.priority = request.priority;
    made.prefix_tokens = request.prefix_tokens;
    if (request.prefix_tokens > 0) made.prefix_group = request.prefix_group;
  }
  return workload;
}

std::vector<std::uint32_t> capture_sizes_of(const ServeJob& job) {
  if (job.capture_sizes) return *job.capture_sizes;
  if (job.kernels.empty()) return {};
  return oracle::CudaGraphs::default_sizes(job.max_num_seqs, job.max_num_batched_tokens);
}

ServeOptions options_of(const ServeJob& job) {
  ServeOptions options;
  options.name = job.name;
  options.device = job.device;
  options.dtype = job.dtype;
  options.policy = job.policy;
  options.block_size = job.block_size;
  options.workers = job.workers;
  options.capture_sizes = capture_sizes_of(job);
  options.seed = job.seed;
  options.engine.max_num_batched_tokens = job.max_num_batched_tokens;
  options.engine.max_num_seqs = job.max_num_seqs;
  options.engine.max_model_len = job.max_model_len > 0 ? job.max_model_len : std::numeric_limits<std::uint32_t>::max();
  options.engine.num_blocks = job.num_blocks;
  options.engine.async_scheduling = job.async_scheduling;
  options.engine.enable_prefix_caching = job.prefix_caching;
  return options;
}

ServeFigures figures_of(const ServedRun& run) {
  ServeFigures figures;
  std::int64_t end_us = 0;
  std::size_t paced = 0;
  for (const ServedRequest& each : run.requests) {
    figures.mean_ttft_s += static_cast<double>(each.token_us.front() - each.sent_us) * 1e-6;
    end_us = std::max(end_us, each.token_us.back());
    if (each.token_us.size() < 2) continue;
    ++paced;
    figures.mean_tpot_s += static_cast<double>(each.token_us.back() - each.token_us.front()) * 1e-6 /
                           static_cast<double>(each.token_us.size() - 1);
  }
  figures.mean_ttft_s /= static_cast<double>(run.requests.size());
  figures.mean_tpot_s /= static_cast<double>(std::max<std::size_t>(paced, 1));
  figures.duration_s = static_cast<double>(end_us - run.requests.front().sent_us) * 1e-6;
  figures.iterations = run.iterations.size();
  figures.host_times = host_times(run);
  return figures;
}

void refuse_other_engine(const ServedRun& run, const ServeJob& job) {
  const std::vector<std::string> keys = engine_differences(run, job.out);
  if (!keys.empty())
    throw cli::UsageError(
        fmt::format("{}: earlier runs of the folder are read by it, and this one differs in {}; take "
                    "another --out, --force replaces it",
                    (job.out / "engine.json").string(), fmt::join(keys, ", ")));
}

}  // namespace

ServeFigures serve_model(const ServeJob& job) {
  try {
    const auto kernels = job.kernels.empty() ? make_torch_kernels() : make_vllm_kernels(job.kernels, job.backend);
    ServeOptions options = options_of(job);
    options.resolved = [&](const ServedRun& run) {
      if (!job.replaces_engine) refuse_other_engine(run, job);
      if (job.begins) job.begins();
    };
    const ServedRun run = serve(load_model(job.config), workload_of(job), options, *kernels);
    write_run(run, job.out);
    write_decisions(run, job.out / "decisions");
    return figures_of(run);
  } catch (const ProfilingError& error) {
    throw cli::UsageError(error.what());
  } catch (const schedulers::ComponentError& error) {
    throw cli::UsageError(std::string("--policy: ") + error.what());
  }
}

}  // namespace dooly::profiling
