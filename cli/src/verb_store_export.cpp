#include "cli_error.hpp"
#include "documentation.hpp"
#include "named_stores.hpp"
#include "new_file.hpp"
#include "record_opener.hpp"
#include "removed_on_signal.hpp"
#include "store_change.hpp"
#include "text.hpp"
#include "verb_store.hpp"
#include "whole_output.hpp"

#include "oracle_import/export_profile.hpp"
#include "oracle_store/portable_file.hpp"
#include "oracle_store/sources.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>

namespace dooly::cli {
namespace {

constexpr const char* kOwnFormat = "dooly";

std::vector<std::string> format_names() {
  std::vector<std::string> names = {kOwnFormat};
  for (const import_::ExportFormat& format : import_::export_formats()) names.emplace_back(format.name);
  return names;
}

struct ExportArguments {
  std::string store, out;
  std::optional<std::string> format, environment, model, gpu, dtype, kv_dtype, backend, engine, block_size;
  std::vector<std::string> tensor_parallel;
  bool suspects = false, force = false;

  import_::ExportOptions options() const {
    import_::ExportOptions made;
    made.model = model.value_or("");
    made.gpu = gpu.value_or("");
    made.dtype = dtype.value_or("");
    made.kv_dtype = kv_dtype.value_or("");
    made.backend = backend.value_or("");
    made.engine = engine.value_or("");
    made.block_size = positive_number(block_size, "--block-size").value_or(made.block_size);
    made.suspects = suspects;
    made.replace = force;
    if (!tensor_parallel.empty()) made.tensor_parallel.clear();
    for (const std::string& degrees : tensor_parallel) add_degrees(degrees, made.tensor_parallel);
    return made;
  }

 private:
  /// Of a list with commas.
  static void add_degrees(const std::string& text, std::vector<std::uint32_t>& into) {
    for (std::size_t from = 0; from <= text.size();) {
      const std::size_t comma = std::min(text.find(',', from), text.size());
      const std::uint32_t degree = *positive_number(text.substr(from, comma - from), "--tp");
      if (std::find(into.begin(), into.end(), degree) != into.end())
        throw UsageError("--tp: " + std::to_string(degree) + " comes twice");
      into.push_back(degree);
      from = comma + 1;
    }
  }
};

/// Where samples come from: says what the options leave open, if all environments agree.
struct Origins {
  std::set<std::string> gpus, engines, cuda;

  void add(const oracle::Environment& environment) {
    gpus.insert(environment.gpu);
    if (!environment.topology.empty()) return;  // collectives: their library is no engine
    cuda.insert(environment.cuda);
    const auto engine = environment.libraries.find("vllm");
    engines.insert(engine == environment.libraries.end() ? std::string() : "vllm=" + engine->second);
  }
  import_::ExportOptions complete(import_::ExportOptions options) const {
    const auto fill = [](std::string& value, const std::set<std::string>& known) {
      if (value.empty() && known.size() == 1) value = *known.begin();
    };
    fill(options.gpu, gpus);
    fill(options.engine, engines);
    fill(options.cuda, cuda);
    return options;
  }
};

/// Collectives whose ranks lie on several nodes: "2x8 nvlink + network".
bool spans_nodes(const oracle::Environment& environment) { return environment.topology.ends_with(" + network"); }

ExitCode export_portable(const ExportArguments& arguments, Terminal& terminal) {
  const std::string& out = arguments.out;
  refuse_taken(out, arguments.force);
  const auto records = opener_of(arguments.store)();
  store::PortableWriter writer(out);
  const RemovedOnSignal guard(writer.temporary());
  for (store::Record record; records->next(record);) writer.write(record);
  terminal.note(out + ": " + with_commas(writer.finish()) + " records written");
  return ExitCode::kDone;
}

ExitCode export_foreign(const ExportArguments& arguments, Terminal& terminal) {
  const std::string& out = arguments.out;
  if (std::filesystem::exists(out) && !std::filesystem::is_directory(out))
    throw UsageError(out + ": is a file; another simulator's profile is a folder");
  if (is_taken(out) && !arguments.force)
    throw UsageError(out + ": holds files already; --force replaces those of the same model");
  Origins origins;
  std::size_t across_nodes = 0;
  const store::EnvironmentChoice choice = [&](const std::string& id,
                                              const oracle::Environment& environment) -> std::optional<int> {
    if (arguments.environment && !id.starts_with(*arguments.environment) &&
        store::title(environment).find(*arguments.environment) == std::string::npos)
      return std::nullopt;
    if (!arguments.environment && spans_nodes(environment)) {
      ++across_nodes;
      return std::nullopt;
    }
    origins.add(environment);
    return 0;
  };
  const auto source = store::open_sample_source(named_stores(arguments.store), choice);
  if (arguments.environment && origins.gpus.empty())
    throw UsageError("--environment: no environment of the store has this in its id or description, got '" +
                     *arguments.environment + "'; dooly store ls lists them");
  try {
    std::string report;
    const auto write_into = [&](const std::filesystem::path& folder) {
      report =
          import_::export_profile(*arguments.format, *source, origins.complete(arguments.options()), folder).text();
    };
    if (is_taken(out))
      write_into(out);
    else
      write_whole_directory(out, [&](const auto& folder, const GoOn&) { write_into(folder); });
    if (across_nodes > 0)
      report += "Left out: collectives across nodes (environments: " + std::to_string(across_nodes) +
                "); those within one are written, --environment takes another\n";
    terminal.print(report);
  } catch (const import_::ImportError& error) {
    throw UsageError(error.what());
  }
  return ExitCode::kDone;
}

}  // namespace

Command store_export_command() {
  const auto arguments = std::make_shared<ExportArguments>();
  Command command{.name = "export",
                  .purpose = "writes a store in the portable form, or as another simulator's profile"};
  command.details = "Other simulators' files: what each layout can hold is in " + documentation("importing.md") + ".\n";
  command.arguments = {{"STORE", kStoreHelp, &arguments->store},
                       {"OUT", "a file, by custom NAME.jsonl.zst; a folder for other formats", &arguments->out}};
  ExportArguments& a = *arguments;
  command.options = {
      {"--format", "NAME", "default dooly, the portable form", &a.format, format_names()},
      {"--environment", "TEXT",
       "other formats: only environments whose id begins so or whose "
       "description holds it",
       &a.environment},
      {"--model", "MODEL", "other formats: the model to write for", &a.model},
      {"--gpu", "NAME", "other formats: names the folder; default: the store's only one", &a.gpu},
      {"--tp", "SIZES", "other formats: tensor parallel degrees, with commas (default 1)", &a.tensor_parallel},
      {"--dtype", "DTYPE", "other formats: of weights and activations", &a.dtype},
      {"--kv-dtype", "DTYPE", "other formats: of the KV cache", &a.kv_dtype},
      {"--backend", "NAME", "other formats: family of attention", &a.backend},
      {"--engine", "NAME=VERSION", "other formats: for the record; default: the store's only one", &a.engine},
      {"--block-size", "N", "other formats: of the KV cache", &a.block_size},
      {"--suspects", "", "other formats: also samples that are marked suspect", &a.suspects},
      {"--force", "",
       "replace files that are there already; other formats: and remove the model's that this export lacks", &a.force}};
  command.examples = {"dooly store export h200 h200.jsonl.zst",
                      "dooly store export h200 profiles --format vidur --model meta-llama/Llama-3.1-8B --gpu h200"};
  command.action = [arguments](Terminal& terminal) {
    return arguments->format.value_or(kOwnFormat) == kOwnFormat ? export_portable(*arguments, terminal)
                                                                : export_foreign(*arguments, terminal);
  };
  return command;
}

}  // namespace dooly::cli
