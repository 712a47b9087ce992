#include "archives.hpp"
#include "cli_error.hpp"
#include "comm_reports.hpp"
#include "commands.hpp"
#include "interrupts.hpp"
#include "needs.hpp"
#include "quantities.hpp"
#include "store_names.hpp"
#include "text.hpp"

#include "profiling_comm/comm_sweep.hpp"
#include "profiling_comm/rank_processes.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;
using cli::UsageError;

struct CommArguments {
  std::optional<std::string> ranks, collectives, dtypes, bytes, store, out, target, budget, point_timeout;
};

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (const CollectiveKind kind : kCollectiveKinds) names.emplace_back(name_of(kind));
  return names;
}

CommRequest request_of(const CommArguments& arguments) {
  CommRequest request;
  if (arguments.collectives) {
    request.kinds.clear();
    for (const std::string& name : list_of("--collectives", *arguments.collectives)) {
      const auto kind = collective_named(name);
      if (!kind)
        throw UsageError("--collectives: " + cli::refused_word("unknown collective", name, collective_names()));
      request.kinds.push_back(*kind);
    }
  }
  static const std::vector<std::string> kTypes{"bfloat16", "float16", "float32", "fp8", "int8"};
  if (arguments.dtypes) request.dtypes = list_of("--dtypes", *arguments.dtypes);
  for (const std::string& dtype : request.dtypes)
    if (element_bytes(dtype) == 0) throw UsageError("--dtypes: " + cli::refused_word("unknown type", dtype, kTypes));
  if (arguments.bytes) request.sizes = size_range("--bytes", *arguments.bytes);
  if (arguments.target) request.sizes.target = percentage("--target", *arguments.target);
  if (arguments.ranks)
    for (const std::string& word : list_of("--ranks", *arguments.ranks))
      request.ranks.push_back(static_cast<std::uint32_t>(whole("--ranks", word, 2, 1024)));
  return request;
}

/// 2, 4, 8, … and all.
std::vector<std::uint32_t> all_ranks(std::uint32_t gpus) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t count = 2; count < gpus; count *= 2) ranks.push_back(count);
  ranks.push_back(gpus);
  return ranks;
}

void check_ranks(CommRequest& request, std::uint32_t gpus) {
  if (gpus < 2) throw UsageError(fmt::format("collectives need two GPUs, this machine shows {}", gpus));
  if (request.ranks.empty()) request.ranks = all_ranks(gpus);
  for (const std::uint32_t ranks : request.ranks)
    if (ranks > gpus) throw UsageError(fmt::format("--ranks: {} are more than the {} GPUs here", ranks, gpus));
}

ExitCode run(const CommArguments& arguments, Terminal& terminal) {
  need_gpu("run this on a machine with two or more");
  if (arguments.store.has_value() == arguments.out.has_value())
    throw UsageError("where to: needs one of --store DIR and --out FILE.jsonl.zst");
  const std::filesystem::path target =
      arguments.store ? store_to_fill(*arguments.store) : portable_name("--out", *arguments.out);
  CommRequest request = request_of(arguments);
  CommSettings settings;
  if (arguments.budget) settings.budget_s = duration_s("--budget", *arguments.budget);
  RankSettings ranks;
  if (arguments.point_timeout) ranks.answer_s = duration_s("--point-timeout", *arguments.point_timeout);

  const cli::Interrupts interrupts;
  settings.is_interrupted = ranks.gives_up = [&] { return interrupts.flag().load(); };
  const CommMachine machine = probe_machine();
  check_ranks(request, machine.gpus);
  const std::unique_ptr<OpenArchive> archive = arguments.store ? open_store(target) : open_portable(target);
  const oracle::Environment all = machine.environment_of(request.ranks.back());
  terminal.note(fmt::format("{} GPUs {}, {}, NCCL {}, into {}", machine.gpus, all.gpu, all.topology,
                            all.libraries.at("nccl"), archive->where()));

  CommProgressLine progress(terminal);
  const RankGroupFactory factory = [&ranks](std::uint32_t count) -> std::unique_ptr<RankGroup> {
    return std::make_unique<RankProcesses>(count, ranks);
  };
  const CommReport report = CommSweep(machine, factory, *archive, settings, &progress).run(request);
  progress.clear();
  archive->close();
  if (report.restarts > 0) terminal.note("the ranks were started again " + std::to_string(report.restarts) + " times");
  terminal.print(comm_text(report));
  return report.end == CommReport::End::kInterrupted ? ExitCode::kInterrupted : ExitCode::kDone;
}

}  // namespace

cli::Command comm_command() {
  const auto arguments = std::make_shared<CommArguments>();
  cli::Command command{.name = "comm", .purpose = "collectives of several GPUs"};
  command.details =
      "Measures NCCL's collectives between the GPUs of this machine, one process each: back to back, as steps in CUDA\n"
      "graphs run them, and isolated. Powers of two first, then sizes between them where interpolation misses. Each\n"
      "point is safe as soon as it is measured: the same command goes on after Ctrl-C, a crash or the end of its "
      "budget.\n"
      "NVLink multicast stays off. NCCL is libnccl.so.2, or what $DOOLY_NCCL names.\n";
  command.options = {
      {"--ranks", "COUNTS", "GPUs that take part, with commas (default 2, 4, ... and all)", &arguments->ranks},
      {"--collectives", "NAMES", "with commas: " + cli::listed(collective_names()) + " (default all)",
       &arguments->collectives},
      {"--dtypes", "TYPES", "with commas: bfloat16 (default), float16, float32, fp8, int8", &arguments->dtypes},
      {"--bytes", "RANGE", "message sizes (default 256B..1GiB)", &arguments->bytes},
      {"--store", "DIR", "the store to fill; it is made if it is not there", &arguments->store},
      {"--out", "FILE", "a portable file instead, FILE.jsonl.zst", &arguments->out},
      {"--target", "SHARE", "error of a left-out size that is small enough (default 3%)", &arguments->target},
      {"--budget", "TIME", "by the clock, then end: 300s, 10m", &arguments->budget},
      {"--point-timeout", "TIME", "for one answer of the ranks, then the point counts as failed (default 30s)",
       &arguments->point_timeout}};
  command.examples = {"dooly profile comm --store measured",
                      "dooly profile comm --ranks 2,4 --collectives all_reduce,all_gather --out comm.jsonl.zst"};
  command.action = [arguments](Terminal& terminal) { return run(*arguments, terminal); };
  return command;
}

}  // namespace dooly::profiling
