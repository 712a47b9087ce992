#include "claimed_name.hpp"
#include "cli_error.hpp"
#include "commands.hpp"
#include "demands.hpp"
#include "needs.hpp"
#include "new_file.hpp"
#include "quantities.hpp"
#include "serve_job.hpp"

#include "workload/workload.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;
using cli::UsageError;

struct ServeArguments {
  std::string config;
  std::optional<std::string> workload, format, out, name, device, dtype, policy, limit, workers, seed;
  std::optional<std::string> max_batched_tokens, max_sequences, max_model_len, block_size, blocks;
  std::optional<std::string> kernels, backend, capture_sizes;
  bool synchronous = false, no_prefix_caching = false, eager = false, force = false;
};

std::vector<ServeJobRequest> requests_of(const std::string& path, const std::string& format, std::uint64_t limit) {
  std::vector<ServeJobRequest> requests;
  try {
    const auto source = workload::open_trace_workload(path, format);
    workload::Request request;
    while (requests.size() < limit && source->next_arrival_s() < workload::kNever) {
      source->take(request);
      if (request.ticket != workload::kNoTicket)
        throw UsageError(path + ": has requests that wait for the answers of others, which cannot be served yet");
      if (request.block_size > 0)
        throw UsageError(path +
                         ": has block ids; prefixes can be served where columns prefix_id and prefix_tokens say so");
      ServeJobRequest& made = requests.emplace_back();
      made.arrival_s = request.arrival_s;
      made.prompt = request.prompt_tokens;
      made.output = request.output_tokens;
      made.priority = request.priority;
      if (request.prefix_id == workload::kNoPrefix) continue;
      made.prefix_group = static_cast<std::uint32_t>(request.prefix_id);
      made.prefix_tokens = request.prefix_tokens;
    }
  } catch (const workload::WorkloadError& error) {
    throw UsageError(error.what());
  }
  if (requests.empty()) throw UsageError(path + ": holds no request");
  return requests;
}

void choose_kernels(const ServeArguments& arguments, ServeJob& job) {
  if (arguments.kernels) job.kernels = kernel_folder(*arguments.kernels, job.device);
  job.backend = arguments.backend.value_or(job.backend);
  require_backend(job.backend);
  if (arguments.eager && arguments.capture_sizes)
    throw UsageError("--enforce-eager: captures nothing, but --cudagraph-capture-sizes says what to capture");
  if (arguments.eager) job.capture_sizes.emplace();
  if (!arguments.capture_sizes) return;
  constexpr std::uint64_t kMost = 8192;
  job.capture_sizes.emplace();
  for (const std::string& word : list_of("--cudagraph-capture-sizes", *arguments.capture_sizes))
    job.capture_sizes->push_back(static_cast<std::uint32_t>(whole("--cudagraph-capture-sizes", word, 1, kMost)));
}

ServeJob job_of(const ServeArguments& arguments) {
  if (!arguments.workload) throw UsageError("--workload: needed, a trace of the requests (dooly list formats)");
  if (!arguments.out) throw UsageError("--out: needed, the folder of the logs");
  if (!arguments.blocks) throw UsageError("--num-gpu-blocks-override: needed, how many blocks the KV cache has");
  constexpr std::uint64_t kMost = 1u << 24;
  const auto number = [&](const char* option, const std::optional<std::string>& text, auto& value) {
    if (text) value = static_cast<std::remove_reference_t<decltype(value)>>(whole(option, *text, 1, kMost));
  };
  ServeJob job;
  job.config = arguments.config;
  job.out = *arguments.out;
  job.name = arguments.name.value_or(job.name);
  if (job.name.empty() || job.name.starts_with('.') || job.name.find('/') != std::string::npos)
    throw UsageError("--name: must be the beginning of file names in --out, got '" + job.name + "'");
  job.device = arguments.device.value_or(job.device);
  job.dtype = arguments.dtype.value_or(job.dtype);
  job.policy = arguments.policy.value_or(job.policy);
  choose_kernels(arguments, job);
  job.async_scheduling = !arguments.synchronous;
  job.prefix_caching = !arguments.no_prefix_caching;
  number("--max-num-batched-tokens", arguments.max_batched_tokens, job.max_num_batched_tokens);
  number("--max-num-seqs", arguments.max_sequences, job.max_num_seqs);
  number("--max-model-len", arguments.max_model_len, job.max_model_len);
  number("--block-size", arguments.block_size, job.block_size);
  number("--num-gpu-blocks-override", arguments.blocks, job.num_blocks);
  number("--workers", arguments.workers, job.workers);
  if (arguments.seed) job.seed = whole("--seed", *arguments.seed, 0, 1ull << 53);
  std::uint64_t limit = kMost;
  number("--limit", arguments.limit, limit);
  job.workload = requests_of(*arguments.workload, arguments.format.value_or(""), limit);
  return job;
}

std::string text_of(const ServeJob& job, const ServeFigures& figures) {
  std::string text = fmt::format("{} requests in {:.2f} s, {} iterations: mean TTFT {:.2f} ms, mean TPOT {:.3f} ms\n",
                                 job.workload.size(), figures.duration_s, figures.iterations, figures.mean_ttft_s * 1e3,
                                 figures.mean_tpot_s * 1e3);
  std::string terms;
  for (const auto& [key, seconds] : figures.host_times)
    terms += fmt::format("{}{}: {:.1f}us", terms.empty() ? "" : ", ", key, seconds * 1e6);
  return text + "host times of a step, for scenarios that predict other runs of this engine:\n" +
         "  platform: {base: none, host: {" + terms + "}}\n";
}

/// As `dooly run`: what a run of that name has written stays, unless told otherwise. Others may lie beside it.
void refuse_to_replace(const ServeJob& job) {
  for (const std::string& file : {job.name + ".run.json", job.name + ".requests.jsonl.gz",
                                  job.name + ".iterations.jsonl.gz", "decisions/" + job.name + ".decisions.jsonl.gz"})
    if (std::filesystem::exists(job.out / file))
      throw UsageError(
          fmt::format("{}: holds results of an earlier run ({}); --force replaces them, --name adds another",
                      job.out.string(), file));
}

/// What the runs of a folder share.
std::string engine_text(const ServeJob& job) {
  std::ostringstream text;
  text << std::ifstream(job.out / "engine.json").rdbuf();
  return text.str();
}

ExitCode run(const ServeArguments& arguments, const ServeFunction& serve, Terminal& terminal) {
  if (arguments.device == "cuda")
    need_gpu("run this on a machine with one, or take --device cpu with a model that a processor can run");
  ServeJob job = job_of(arguments);
  if (!arguments.force) refuse_to_replace(job);
  if (!serve) throw built_without_torch("it cannot serve");
  const cli::DirectoryForFiles out(job.out);
  const ClaimedName claimed(job.out / ("." + job.name + ".dooly-lock"));
  if (!arguments.force) refuse_to_replace(job);  // another run may have ended meanwhile
  job.replaces_engine = arguments.force;
  job.begins = [&] { terminal.note(fmt::format("serving {} requests on {}", job.workload.size(), job.device)); };
  const std::string engine_before = engine_text(job);
  const ServeFigures figures = serve(job);
  if (!engine_before.empty() && engine_text(job) != engine_before)
    terminal.warning((job.out / "engine.json").string() +
                     ": is now that of this run; earlier ones in the folder had another engine");
  terminal.print(text_of(job, figures));
  terminal.note("logs in " + job.out.string());
  return ExitCode::kDone;
}

}  // namespace

cli::Command serve_command(const ServeFunction& serve) {
  const auto arguments = std::make_shared<ServeArguments>();
  cli::Command command{.name = "serve", .purpose = "serves a trace by the built-in engine in real time"};
  command.details =
      "Builds the model with random weights, sends it the requests of a trace when they are due, and decides every\n"
      "batch by the simulator's own policy. Writes what happened: DIR/NAME.requests.jsonl.gz, "
      "NAME.iterations.jsonl.gz,\n"
      "NAME.run.json and engine.json, which dooly validate reads as vllm-h200-groundtruth, and the decision log\n"
      "DIR/decisions/NAME.decisions.jsonl.gz for golden-replay. A run that is interrupted (exit status 130) leaves "
      "none. Every token is computed, so take a model that the "
      "device\n"
      "can run.\n";
  command.arguments = {{"CONFIG", "a config.json, or the folder that holds it", &arguments->config}};
  command.options = {
      {"--workload", "FILE", "the requests: a trace", &arguments->workload},
      {"--format", "NAME", "of the trace, default: detected", &arguments->format},
      {"--limit", "N", "only its first N requests", &arguments->limit},
      {"--out", "DIR", "where the logs go", &arguments->out},
      {"--name", "NAME", "of the run (default run)", &arguments->name},
      {"--device", "NAME", "cpu (default) or cuda", &arguments->device},
      {"--dtype",
       "TYPE",
       "default auto: the checkpoint's",
       &arguments->dtype,
       {"auto", "bfloat16", "float16", "float32"}},
      {"--kernels", "DIR", "folder of the engine's kernel libraries, on cuda (default: LibTorch's kernels)",
       &arguments->kernels},
      {"--backend", "NAME", "attention of those libraries (default fa3)", &arguments->backend},
      {"--cudagraph-capture-sizes", "LIST",
       "batch sizes that decode steps are captured at (default: the engine's own, with --kernels)",
       &arguments->capture_sizes},
      {"--enforce-eager", "", "capture nothing", &arguments->eager},
      {"--policy", "NAME", "scheduling policy (dooly list policies), default vllm-v1", &arguments->policy},
      {"--max-num-batched-tokens", "N", "tokens of a step (default 8192)", &arguments->max_batched_tokens},
      {"--max-num-seqs", "N", "sequences of a step (default 1024)", &arguments->max_sequences},
      {"--max-model-len", "N", "tokens of a sequence (default: the model's)", &arguments->max_model_len},
      {"--block-size", "N", "tokens of a KV block (default 16)", &arguments->block_size},
      {"--num-gpu-blocks-override", "N", "blocks of the KV cache, the placeholder among them", &arguments->blocks},
      {"--no-async-scheduling", "", "read each step's result before the next is scheduled", &arguments->synchronous},
      {"--no-enable-prefix-caching", "", "compute shared prefixes again", &arguments->no_prefix_caching},
      {"--workers", "N", "a closed loop of N clients; arrival times are ignored", &arguments->workers},
      {"--seed", "N", "of weights and token ids (default 0)", &arguments->seed},
      {"--force", "", "replace what a run of that name has written there", &arguments->force}};
  command.examples = {
      "dooly profile serve ./config.json --workload trace.csv --dtype float32 --num-gpu-blocks-override 2000 --out "
      "served",
      "dooly profile serve ./config.json --device cuda --kernels DIR --workload trace.csv --workers 64 "
      "--num-gpu-blocks-override 20000 --out served"};
  command.action = [arguments, serve](Terminal& terminal) { return run(*arguments, serve, terminal); };
  return command;
}

}  // namespace dooly::profiling
