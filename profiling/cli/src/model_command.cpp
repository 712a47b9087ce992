#include "archives.hpp"
#include "cli_error.hpp"
#include "commands.hpp"
#include "demands.hpp"
#include "interrupts.hpp"
#include "needs.hpp"
#include "quantities.hpp"
#include "reports.hpp"
#include "store_names.hpp"
#include "sweep_progress.hpp"
#include "text.hpp"

#include "profiling_sweep/held_out.hpp"
#include "profiling_sweep/sweep.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;
using cli::UsageError;

struct ModelArguments {
  std::vector<std::string> configs;
  std::optional<std::string> backend, tp, dtype, device, kernels, store, out, target, budget, max_points, grid,
      held_out;
  std::optional<std::string> max_batched_tokens, max_sequences, max_context, max_kv_tokens, point_timeout;
  bool dry_run = false;
};

/// By the same name, or the same file by another.
bool are_same_model(const std::string& left, const std::string& right) {
  std::error_code ignored;
  return left == right || std::filesystem::equivalent(left, right, ignored);
}

DemandRequest request_of(const ModelArguments& arguments) {
  DemandRequest request;
  for (const std::string& config : arguments.configs) {
    for (const std::string& before : request.configs)
      if (are_same_model(before, config)) throw UsageError("CONFIG: '" + config + "' comes twice");
    request.configs.push_back(config);
  }
  if (arguments.backend) request.backends = list_of("--backend", *arguments.backend);
  for (const std::string& name : request.backends) require_backend(name);
  if (arguments.tp) {
    request.tensor_parallel.clear();
    for (const std::string& word : list_of("--tp", *arguments.tp))
      request.tensor_parallel.push_back(static_cast<std::uint32_t>(whole("--tp", word, 1, 1024)));
  }
  if (arguments.dtype) request.dtype = *arguments.dtype;
  return request;
}

SweepLimits limits_of(const ModelArguments& arguments) {
  SweepLimits limits;
  constexpr std::uint64_t kMost = 1u << 24;
  const auto read = [&](const char* option, const std::optional<std::string>& text, auto& value) {
    if (text) value = static_cast<std::remove_reference_t<decltype(value)>>(whole(option, *text, 16, kMost));
  };
  read("--max-num-batched-tokens", arguments.max_batched_tokens, limits.max_batched_tokens);
  read("--max-num-seqs", arguments.max_sequences, limits.max_sequences);
  read("--max-model-len", arguments.max_context, limits.max_context);
  read("--max-kv-tokens", arguments.max_kv_tokens, limits.max_kv_tokens);
  return limits;
}

SweepSettings settings_of(const ModelArguments& arguments, const std::string& device) {
  SweepSettings settings;
  settings.refine.limits = limits_of(arguments);
  settings.refine.both_regimes = device != "cpu";
  if (arguments.target) settings.refine.target = percentage("--target", *arguments.target);
  if (arguments.budget) settings.budget_s = duration_s("--budget", *arguments.budget);
  if (arguments.max_points) settings.max_points = whole("--max-points", *arguments.max_points, 1, 1u << 30);
  settings.dense = arguments.grid && *arguments.grid == "dense";
  return settings;
}

/// Of each signature; 0: none.
std::size_t held_out_of(const ModelArguments& arguments) {
  return arguments.held_out ? whole("--held-out", *arguments.held_out, 1, 10000) : 0;
}

WorkerMeasurer::Settings worker_settings_of(const ModelArguments& arguments) {
  WorkerMeasurer::Settings settings;
  if (arguments.point_timeout) settings.seconds_per_point = duration_s("--point-timeout", *arguments.point_timeout);
  return settings;
}

Demands planned(const ModelArguments& arguments, Terminal& terminal) {
  Demands demands = demands_of(request_of(arguments));
  for (const auto& [what, why] : demands.refused) terminal.warning(what + ": left out: " + why);
  if (demands.all.empty()) throw UsageError("nothing to measure: no model of those given can be run so");
  return demands;
}

constexpr const char* kOneOfTwo = "--store and --out: one of the two";

std::filesystem::path target_of(const ModelArguments& arguments) {
  if (arguments.store && arguments.out) throw UsageError(kOneOfTwo);
  if (!arguments.store && !arguments.out)
    throw UsageError("where to: needs --store DIR, or --out FILE.jsonl.zst on a machine without RocksDB");
  return arguments.store ? store_to_fill(*arguments.store) : portable_name("--out", *arguments.out);
}

MeasuredPoints measured_so_far(const ModelArguments& arguments) {
  if (arguments.store && arguments.out) throw UsageError(kOneOfTwo);
  if (arguments.store) return measured_in_store(*arguments.store);
  return arguments.out ? measured_in_file(portable_name("--out", *arguments.out)) : MeasuredPoints{};
}

/// All operations of the demands, each once, in order of first need; what is measured is looked up by the sweep.
std::vector<Operation> operations_of(const Demands& demands) { return reuse_table(demands.all, {}).missing; }

ExitCode dry_run(const ModelArguments& arguments, const RefusalFunction& refusal, Terminal& terminal) {
  const std::string device = arguments.device.value_or("cuda");
  const SweepSettings settings = settings_of(arguments, device);  // refuses what the real run would
  if (arguments.kernels) kernel_folder(*arguments.kernels, device);
  worker_settings_of(arguments);
  held_out_of(arguments);
  const MeasuredPoints points = measured_so_far(arguments);
  std::set<oracle::Signature> measured;
  for (const auto& each : points) measured.insert(each.first);
  Demands demands = planned(arguments, terminal);
  std::vector<Unmeasurable> unmeasurable;
  if (refusal)
    unmeasurable = take_unmeasurable(
        demands, measured, [&](const std::string& backend, const auto& key) { return refusal(device, backend, key); });
  terminal.print(reuse_text(reuse_table(demands.all, measured)) + unmeasurable_text(unmeasurable));
  terminal.print(points_text(operations_of(demands), points, settings.refine.limits));
  return ExitCode::kDone;
}

MeasurerFactory factory_of(const ModelArguments& arguments, const Devices& devices, const std::string& device,
                           const DemandRequest& request) {
  const auto found = devices.find(device);
  if (found == devices.end()) {
    std::vector<std::string> names;
    for (const auto& each : devices) names.push_back(each.first);
    if (names.empty()) throw built_without_torch("it can only plan (--dry-run)");
    throw UsageError("--device: " + cli::refused_word("unknown device", device, names));
  }
  return found->second({kernels_of(arguments.kernels, device, request.backends), request.backends.front()});
}

struct HeldOutJob {
  std::size_t count = 0;  ///< points of each signature
  std::filesystem::path store;
  SweepSettings settings = {};  ///< of the sweep
  double spent_s = 0;           ///< by the sweep
  std::uint64_t points = 0;     ///< of the sweep, with those that failed
};

/// Points that the fit never sees, into a file of their own.
ExitCode hold_out(const HeldOutJob& job, Measurer& measurer, const std::vector<Operation>& operations,
                  const SamplesBySignature& fitted, Terminal& terminal) {
  const std::filesystem::path file = held_out_beside(job.store);
  SweepSettings settings = job.settings;
  if (settings.budget_s > 0) settings.budget_s = std::max(1e-3, settings.budget_s - job.spent_s);
  if (settings.max_points > 0) {
    if (job.points >= settings.max_points) {
      terminal.print(held_out_text({.end = SweepReport::End::kPoints}, job.store.string(), file.string()));
      return ExitCode::kDone;
    }
    settings.max_points -= job.points;
  }
  const auto archive = open_portable(file);
  SweepProgressLine progress(terminal);
  const HeldOutReport report = measure_held_out(measurer, *archive, operations, fitted, job.count, settings, &progress);
  progress.clear();
  archive->close();
  terminal.print(held_out_text(report, job.store.string(), file.string()));
  return report.end == SweepReport::End::kInterrupted ? ExitCode::kInterrupted : ExitCode::kDone;
}

ExitCode measure(const ModelArguments& arguments, const Devices& devices, Terminal& terminal) {
  const std::string device = arguments.device.value_or("cuda");
  if (device == "cuda")
    need_gpu(
        "run this on a machine with one, measure the processor (--device cpu --backend torch), or only plan "
        "(--dry-run)");
  const std::filesystem::path target = target_of(arguments);
  const DemandRequest request = request_of(arguments);
  SweepSettings settings = settings_of(arguments, device);
  WorkerMeasurer::Settings worker_settings = worker_settings_of(arguments);
  HeldOutJob held_out{held_out_of(arguments), target};
  const MeasurerFactory factory = factory_of(arguments, devices, device, request);
  const Demands demands = planned(arguments, terminal);
  if (held_out.count > 0) refuse_unfillable(held_out_beside(target));  // now, not after hours

  const cli::Interrupts interrupts;
  const auto is_interrupted = [&] { return interrupts.flag().load(); };
  settings.is_interrupted = worker_settings.gives_up = is_interrupted;
  WorkerMeasurer worker(factory, worker_settings);
  const oracle::Environment environment = worker.environment();  // the child starts before any file is open
  const std::unique_ptr<OpenArchive> archive = arguments.store ? open_store(target) : open_portable(target);
  terminal.note("measuring on " + environment.gpu + " into " + archive->where());

  SweepProgressLine progress(terminal);
  const std::vector<Operation> operations = operations_of(demands);
  const SweepReport report = Sweep(worker, *archive, settings, &progress).run(operations);
  progress.clear();
  const SamplesBySignature fitted =
      held_out.count > 0 ? measured_in(*archive, operations, environment) : SamplesBySignature{};
  archive->close();
  if (worker.restarts() > 0)
    terminal.note("the measuring process was started again " + std::to_string(worker.restarts()) + " times");
  terminal.print(sweep_text(report, settings.refine.limits, settings.dense));
  if (report.end == SweepReport::End::kInterrupted) return ExitCode::kInterrupted;
  if (held_out.count == 0 || report.end != SweepReport::End::kDone) return ExitCode::kDone;
  held_out.settings = settings;
  held_out.spent_s = report.spent_s;
  held_out.points = report.points + report.failed;
  return hold_out(held_out, worker, operations, fitted, terminal);
}

ExitCode run(const ModelArguments& arguments, const Devices& devices, const RefusalFunction& refusal,
             Terminal& terminal) {
  if (arguments.dry_run) return dry_run(arguments, refusal, terminal);
  try {
    return measure(arguments, devices, terminal);
  } catch (const WorkerMeasurer::Interrupted&) {  // before anything was measured
    return ExitCode::kInterrupted;
  }
}

}  // namespace

cli::Command model_command(const Devices& devices, const RefusalFunction& refusal) {
  const auto arguments = std::make_shared<ModelArguments>();
  cli::Command command{.name = "model", .purpose = "measures what a store lacks of one or several models"};
  command.details =
      "Plans each model, takes every operator once, and measures those that the store lacks until their fits err by "
      "less\n"
      "than --target on points left out. Each point is safe as soon as it is measured: the same command goes on after\n"
      "Ctrl-C, a crash or the end of its budget.\n";
  command.arguments = {{"CONFIG", "shipped models (dooly list models) or paths to a config.json", &arguments->configs}};
  command.options = {
      {"--backend", "NAMES", "attention back ends, with commas: " + cli::listed(profile_backends()) + " (default fa3)",
       &arguments->backend},
      {"--tp", "SIZES", "tensor parallel sizes, with commas (default 1)", &arguments->tp},
      {"--dtype", "TYPE", "of activations", &arguments->dtype, {"auto", "bfloat16", "float16", "float32"}},
      {"--device", "NAME", "cuda (default) or cpu", &arguments->device},
      {"--kernels", "DIR",
       "folder of the engine's kernel libraries (default: $DOOLY_VLLM_KERNELS); --backend torch needs none",
       &arguments->kernels},
      {"--store", "DIR",
       "the store to fill; it is made if it is not there. With --dry-run also a file or a shipped one's name",
       &arguments->store},
      {"--out", "FILE", "a portable file instead, FILE.jsonl.zst", &arguments->out},
      {"--target", "SHARE",
       "error at which an operator is done (default 3%): of attention the mean of left-out points, of others what may "
       "still change between two points",
       &arguments->target},
      {"--budget", "TIME", "of the device, then end: 300s, 10m", &arguments->budget},
      {"--max-points", "N", "then end; those of --held-out count too", &arguments->max_points},
      {"--grid",
       "KIND",
       "adaptive (default), or the dense grid of earlier profilers, for comparison",
       &arguments->grid,
       {"adaptive", "dense"}},
      {"--held-out", "N",
       "then measure N random points of each signature apart, into held-out-NAME.jsonl.zst beside the store, for "
       "dooly profile score",
       &arguments->held_out},
      {"--max-num-batched-tokens", "N", "tokens of a step, at least 16 (default 8192)", &arguments->max_batched_tokens},
      {"--max-num-seqs", "N", "sequences of a step, at least 16 (default 256)", &arguments->max_sequences},
      {"--max-model-len", "N", "tokens of a sequence, at least 16 (default 32768)", &arguments->max_context},
      {"--max-kv-tokens", "N", "tokens in the cache, of all sequences, at least 16 (default 1048576)",
       &arguments->max_kv_tokens},
      {"--point-timeout", "TIME", "for one point, then it counts as failed (default 120s)", &arguments->point_timeout},
      {"--dry-run", "", "measure nothing: who needs which signatures, what is there, and what has no kernels here",
       &arguments->dry_run}};
  command.examples = {
      "dooly profile model meta-llama/Llama-3.1-8B --store measured --kernels DIR",
      "dooly profile model meta-llama/Llama-3.1-8B --tp 8 --store h200 --dry-run",
      "dooly profile model models/*/config.json --backend fa3,flashinfer --tp 1,2,4 --dry-run",
      "dooly profile model ./config.json --device cpu --backend torch --out cpu.jsonl.zst --budget 60s"};
  command.action = [arguments, devices, refusal](Terminal& terminal) {
    return run(*arguments, devices, refusal, terminal);
  };
  return command;
}

}  // namespace dooly::profiling
