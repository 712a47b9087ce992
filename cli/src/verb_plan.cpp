#include "cli_error.hpp"
#include "new_file.hpp"
#include "plan_text.hpp"
#include "record_opener.hpp"
#include "store_coverage.hpp"
#include "text.hpp"
#include "verbs.hpp"

#include "files/whole_file.hpp"
#include "oracle/model_table.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_store/signature_store.hpp"
#include "sim/profile_store.hpp"

#include <charconv>
#include <deque>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace dooly::cli {
namespace {

struct PlanArguments {
  std::string config;
  std::optional<std::string> tp, pp, ep, stage, backend, dtype, kv_dtype, block_size, out, store;
  bool save = false, force = false;
};

std::uint32_t whole(const char* option, const std::optional<std::string>& text, std::uint32_t fallback,
                    std::uint32_t least) {
  if (!text) return fallback;
  std::uint32_t value = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc{} || stop != end || value < least)
    throw UsageError(std::string(option) + ": must be a whole number of at least " + std::to_string(least) + ", got '" +
                     *text + "'");
  return value;
}

oracle::ModelConfig model_of(const std::string& config) {
  std::error_code ignored;
  if (oracle::is_shipped_model(config) || !std::filesystem::exists(config, ignored)) return oracle::find_model(config);
  return oracle::load_model_file(config);
}

oracle::PlanSettings settings_of(const PlanArguments& arguments) {
  oracle::PlanSettings settings;
  settings.tensor_parallel = whole("--tp", arguments.tp, 1, 1);
  settings.pipeline_parallel = whole("--pp", arguments.pp, 1, 1);
  settings.expert_parallel = whole("--ep", arguments.ep, 1, 1);
  settings.stage = whole("--stage", arguments.stage, 0, 0);
  settings.block_size = whole("--block-size", arguments.block_size, settings.block_size, 1);
  settings.backend = arguments.backend.value_or(settings.backend);
  settings.dtype = arguments.dtype.value_or(settings.dtype);
  settings.kv_dtype = arguments.kv_dtype.value_or(settings.kv_dtype);
  return settings;
}

/// The back end of which the store has attention; what `settings` have where it has that, or none of any.
std::string measured_backend(const oracle::ModelConfig& model, oracle::PlanSettings settings,
                             const StoreCoverage& coverage) {
  const auto make = [&](std::string_view backend) {
    settings.backend = backend;
    return make_plan(model, settings);
  };
  const std::string gpu = coverage.gpus().size() == 1 ? *coverage.gpus().begin() : std::string();
  return sim::with_measured_backend(make_plan(model, settings), gpu, make,
                                    [&](const oracle::Signature& signature) { return coverage.samples(signature) > 0; })
      .backend;
}

/// `coverage` of --store may be null.
std::vector<oracle::StepPlan> plans_of(const PlanArguments& arguments, const StoreCoverage* coverage) {
  const oracle::ModelConfig model = model_of(arguments.config);
  oracle::PlanSettings settings = settings_of(arguments);
  if (!arguments.backend && coverage != nullptr) settings.backend = measured_backend(model, settings, *coverage);
  std::vector<oracle::StepPlan> plans;
  const std::uint32_t stages = arguments.stage ? 1 : settings.pipeline_parallel;
  for (std::uint32_t i = 0; i < stages; ++i, ++settings.stage) {
    plans.push_back(make_plan(model, settings));
    // Of torch's plan no other can be made.
    plans.back().backend_is_default = !arguments.backend && plans.back().backend != "torch";
  }
  return plans;
}

/// One plan keeps the name; of several, "plan.json" becomes "plan.stage1.json".
std::filesystem::path file_of(const std::string& out, const oracle::StepPlan& plan, std::size_t plans) {
  std::filesystem::path path = out;
  if (plans == 1) return path;
  const std::string name = path.stem().string() + ".stage" + std::to_string(plan.stage) + path.extension().string();
  return path.replace_filename(name);
}

/// What several names are made from must be a file's: no directory, and not a device, beside which they would be made.
void check_pattern(const std::filesystem::path& out, std::size_t plans) {
  refuse_taken(out, true);
  std::error_code ignored;
  if (!out.has_filename() || std::filesystem::is_other(out, ignored))
    throw UsageError("--out: must be a file's name for each of " + std::to_string(plans) +
                     " stages (--stage N writes one), got '" + out.string() + "'");
}

/// The files of --out, open before anything is printed or saved; none without it.
std::deque<files::WholeFile> opened_files(const PlanArguments& arguments, const std::vector<oracle::StepPlan>& plans) {
  std::deque<files::WholeFile> opened;  // they do not move
  if (!arguments.out) return opened;
  if (plans.size() > 1) check_pattern(*arguments.out, plans.size());
  for (const oracle::StepPlan& plan : plans) {
    const std::filesystem::path path = file_of(*arguments.out, plan, plans.size());
    refuse_taken(path, arguments.force);
    opened.emplace_back(path);
  }
  return opened;
}

void write_plans(std::deque<files::WholeFile>& opened, const std::vector<oracle::StepPlan>& plans, Terminal& terminal) {
  for (std::size_t i = 0; i < opened.size(); ++i) {
    opened[i].write(plan_json(plans[i]));
    opened[i].finish();
    terminal.note("wrote " + opened[i].path().string());
  }
}

/// "meta-llama/Llama-3.1-8B tp2 pp1 ep1 fa3 bfloat16 kv-bfloat16 stage0".
std::string stored_name(const oracle::StepPlan& plan) {
  return plan.model + " tp" + std::to_string(plan.tensor_parallel) + " pp" + std::to_string(plan.pipeline_parallel) +
         " ep" + std::to_string(plan.expert_parallel) + " " + plan.backend + " " + plan.dtype + " kv-" + plan.kv_dtype +
         " stage" + std::to_string(plan.stage);
}

void save_plans(const PlanArguments& arguments, const std::vector<oracle::StepPlan>& plans, Terminal& terminal) {
  auto opened = store::SignatureStore::open(*arguments.store, store::SignatureStore::Mode::kWrite);
  for (const oracle::StepPlan& plan : plans) {
    opened.put_plan(stored_name(plan), plan_json(plan));
    terminal.note("saved as '" + stored_name(plan) + "'");
  }
  opened.close();
}

ExitCode plan(const PlanArguments& arguments, Terminal& terminal) {
  if (arguments.save && !arguments.store) throw UsageError("--save: needs --store, the store to save the plan in");
  std::optional<StoreCoverage> coverage;
  if (arguments.store) coverage.emplace(*opener_of(*arguments.store, "--store")());
  const std::vector<oracle::StepPlan> plans = plans_of(arguments, coverage ? &*coverage : nullptr);
  std::deque<files::WholeFile> files = opened_files(arguments, plans);
  const oracle::PlanSettings usual;
  if (!arguments.backend && plans.front().backend != usual.backend)
    terminal.note("attention: the store has none of " + usual.backend + ", but of " + plans.front().backend +
                  ", which is planned (--backend decides)");
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (i > 0) terminal.print("\n");
    terminal.print(plan_text(plans[i], coverage ? &*coverage : nullptr));
  }
  if (arguments.save) save_plans(arguments, plans, terminal);
  write_plans(files, plans, terminal);
  return ExitCode::kDone;
}

}  // namespace

Command plan_command() {
  const auto arguments = std::make_shared<PlanArguments>();
  Command command{.name = "plan", .purpose = "the step plan of a model: operators, FLOPs, bytes"};
  command.details =
      "Lists what one GPU runs in a step: each operator with its count, what its time follows (tokens, sampled rows, "
      "the\n"
      "batch's attention, routing, bytes), FLOPs and bytes of one run, and the signature under which a store holds "
      "its\n"
      "measurements. With --store, how many samples that store has of each. Attention: FLOPs for each pair of tokens "
      "that\n"
      "attend (prefill/decode where they differ), bytes of one cached token.\n";
  command.arguments = {
      {"CONFIG", "a shipped model (dooly list models) or a path to a config.json", &arguments->config}};
  std::vector<std::string> backends;
  for (const std::string_view name : oracle::plan_backends()) backends.emplace_back(name);
  command.options = {
      {"--tp", "N", "tensor parallel size (default 1)", &arguments->tp},
      {"--pp", "N", "pipeline stages (default 1); all are listed", &arguments->pp},
      {"--ep", "N", "GPUs that experts are spread over: 1, or a multiple of --tp", &arguments->ep},
      {"--stage", "N", "only this stage, from 0", &arguments->stage},
      {"--backend", "NAME", "attention: " + listed(backends) + " (default: fa3, or what --store has instead)",
       &arguments->backend},
      {"--dtype", "TYPE", "of activations: auto, bfloat16, float16, float32", &arguments->dtype},
      {"--kv-dtype", "TYPE", "of the KV cache: auto, bfloat16, float16, fp8", &arguments->kv_dtype},
      {"--block-size", "N", "tokens of a KV block (default 16)", &arguments->block_size},
      {"--store", "S", "what of the plan this store can answer: a directory, a .jsonl.zst or a shipped one's name",
       &arguments->store},
      {"--save", "", "save the plan in --store", &arguments->save},
      {"--out", "FILE", "write the plan as JSON (dooly predict reads it)", &arguments->out},
      {"--force", "", "replace a file that is there already", &arguments->force}};
  command.examples = {"dooly plan meta-llama/Llama-3.1-8B --tp 2",
                      "dooly plan ./config.json --tp 4 --ep 4 --store h200 --out plan.json"};
  command.action = [arguments](Terminal& terminal) { return plan(*arguments, terminal); };
  return command;
}

}  // namespace dooly::cli
