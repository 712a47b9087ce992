#include "cli_error.hpp"
#include "commands.hpp"
#include "demands.hpp"
#include "files/whole_file.hpp"
#include "needs.hpp"
#include "quantities.hpp"
#include "step_job.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace dooly::profiling {
namespace {

using cli::ExitCode;
using cli::Terminal;
using cli::UsageError;

struct StepArguments {
  std::string config;
  std::optional<std::string> kernels, backend, batches, block_size, blocks, max_model_len, json;
};

constexpr std::uint64_t kMost = 1u << 24;

StepJob::Batch batch_of(const std::string& word) {
  const std::size_t cross = word.find('x');
  if (cross == std::string::npos)
    throw UsageError(fmt::format("--batches: must be REQUESTSxCONTEXT with commas, as 64x1024, got '{}'", word));
  return {static_cast<std::uint32_t>(whole("--batches", word.substr(0, cross), 1, kMost)),
          static_cast<std::uint32_t>(whole("--batches", word.substr(cross + 1), 0, kMost))};
}

StepJob job_of(const StepArguments& arguments) {
  if (!arguments.kernels) throw UsageError("--kernels: needed, the folder of the engine's kernel libraries");
  StepJob job;
  job.config = arguments.config;
  job.kernels = kernel_folder(*arguments.kernels, "cuda");
  job.backend = arguments.backend.value_or(job.backend);
  require_backend(job.backend);
  for (const std::string& word : list_of("--batches", arguments.batches.value_or("1x1024,64x1024")))
    job.batches.push_back(batch_of(word));
  const auto number = [](const char* option, const std::optional<std::string>& text, std::uint32_t& value) {
    if (text) value = static_cast<std::uint32_t>(whole(option, *text, 1, kMost));
  };
  number("--block-size", arguments.block_size, job.block_size);
  number("--num-gpu-blocks-override", arguments.blocks, job.num_blocks);
  number("--max-model-len", arguments.max_model_len, job.max_model_len);
  return job;
}

ExitCode run(const StepArguments& arguments, const StepFunction& study, Terminal& terminal) {
  need_gpu("captured steps run there alone: run this on a machine with one");
  const StepJob job = job_of(arguments);
  if (!study) throw built_without_torch("it cannot run a step");
  std::optional<files::WholeFile> file;
  if (arguments.json) file.emplace(*arguments.json);
  try {
    study(job, [&](const std::string& text, const std::string& json) {
      terminal.print(text);
      terminal.flush();
      if (file) file->write(json + '\n');
    });
  } catch (...) {
    if (file && !file->failed()) file->finish();  // the batches before are good
    throw;
  }
  if (file) file->finish();
  return ExitCode::kDone;
}

}  // namespace

cli::Command step_command(const StepFunction& study) {
  const auto arguments = std::make_shared<StepArguments>();
  cli::Command command{.name = "step", .purpose = "takes a captured decode step apart"};
  command.details =
      "Runs decode steps of the built-in engine on a GPU as it captures them, and each kind of operator of the same\n"
      "step alone, with the same weights and cache: what the whole takes beyond the sum of its parts, by events and "
      "by\n"
      "kernel. Blocks are scattered over the KV cache.\n";
  command.arguments = {{"CONFIG", "a config.json, or the folder that holds it", &arguments->config}};
  command.options = {
      {"--kernels", "DIR", "folder of the engine's kernel libraries", &arguments->kernels},
      {"--backend", "NAME", "attention of those libraries (default fa3)", &arguments->backend},
      {"--batches", "LIST", "requests x tokens of context (default 1x1024,64x1024)", &arguments->batches},
      {"--block-size", "N", "tokens of a KV block (default 16)", &arguments->block_size},
      {"--num-gpu-blocks-override", "N", "blocks of the KV cache (default: as many as the batch needs)",
       &arguments->blocks},
      {"--max-model-len", "N", "tokens of a sequence (default: the model's)", &arguments->max_model_len},
      {"--json", "FILE", "a line for each batch; it has its name when the study ends", &arguments->json}};
  command.examples = {"dooly profile step ./config.json --kernels DIR --batches 8x1024,64x1024,64x4096"};
  command.action = [arguments, study](Terminal& terminal) { return run(*arguments, study, terminal); };
  return command;
}

}  // namespace dooly::profiling
