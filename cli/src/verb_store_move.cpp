#include "cli_error.hpp"
#include "documentation.hpp"
#include "named_library.hpp"
#include "named_stores.hpp"
#include "record_opener.hpp"
#include "store_change.hpp"
#include "text.hpp"
#include "verb_store.hpp"

#include "oracle_import/import_profile.hpp"
#include "oracle_store/links.hpp"
#include "oracle_store/record_set.hpp"

#include "scenarios/find_store.hpp"

#include <algorithm>
#include <fstream>
#include <memory>

namespace dooly::cli {
namespace {

constexpr const char* kOwnFormat = "dooly";

std::vector<std::string> import_format_names() {
  std::vector<std::string> names = {kOwnFormat};
  for (const import_::ImportFormat& format : import_::import_formats()) names.emplace_back(format.name);
  return names;
}

// --- import

struct ImportArguments {
  std::string store;
  std::vector<std::string> inputs;
  std::optional<std::string> library, format, prefer, gpu, engine, model, dtype, kv_dtype, backend, topology, driver,
      cuda, tp, block_size;

  /// dooly's own files say themselves what these would.
  void refuse_foreign_options() const {
    const std::pair<const char*, const std::optional<std::string>&> foreign[] = {
        {"--gpu", gpu},           {"--engine", engine},   {"--model", model},          {"--dtype", dtype},
        {"--kv-dtype", kv_dtype}, {"--backend", backend}, {"--topology", topology},    {"--driver", driver},
        {"--cuda", cuda},         {"--tp", tp},           {"--block-size", block_size}};
    for (const auto& [name, value] : foreign)
      if (value)
        throw UsageError(std::string(name) + ": is for foreign profiles; " + inputs.front() +
                         " is a portable file or a store, which says so itself");
  }

  import_::ImportOptions options() const {
    return {.gpu = gpu.value_or(""),
            .engine = engine.value_or(""),
            .model = model.value_or(""),
            .dtype = dtype.value_or(""),
            .kv_dtype = kv_dtype.value_or(""),
            .backend = backend.value_or(""),
            .topology = topology.value_or(""),
            .driver = driver.value_or(""),
            .cuda = cuda.value_or(""),
            .tensor_parallel = positive_number(tp, "--tp").value_or(0),
            .block_size = positive_number(block_size, "--block-size").value_or(0)};
  }
};

/// Neither a directory nor a file that holds anything.
void refuse_device(const std::string& target) {
  std::error_code ignored;
  if (std::filesystem::is_other(target, ignored)) throw UsageError(target + ": must be a directory or a portable file");
}

/// A new directory of a name that already means stores, as shipped ones: the next command could not tell them apart.
void refuse_name_of_others(const std::string& target) {
  std::error_code ignored;
  if (is_portable(target) || std::filesystem::exists(target, ignored) || scenario::stores_called(target).empty())
    return;
  throw UsageError(target + ": names stores that are only read; './" + target + "' is a new directory");
}

/// A store, or what should be one: by its bytes or its name. What is not there may be the name of one.
bool is_own_input(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return std::filesystem::exists(path / "CURRENT", ignored);
  if (!std::filesystem::is_regular_file(path, ignored) || path.string().ends_with(".jsonl") ||
      path.extension() == ".zst")
    return true;
  char head[4] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  return head[0] == '{' || std::string_view(head, sizeof head) == "\x28\xb5\x2f\xfd";
}

/// Of an input, where no --format says it.
std::string detected_format(const std::string& input, Terminal& terminal) {
  if (is_own_input(input)) return kOwnFormat;
  std::vector<std::string_view> possible;
  try {
    possible = import_::possible_formats(input);
  } catch (const import_::ImportError& error) {
    throw UsageError(error.what());
  }
  if (possible.size() == 1) {
    terminal.note(input + ": of format " + std::string(possible.front()));
    return std::string(possible.front());
  }
  const std::vector<std::string> several(possible.begin(), possible.end());
  throw UsageError(
      several.empty()
          ? input +
                ": its content does not tell its format; --format NAME does; allowed: " + listed(import_format_names())
          : input + ": its content may be of several formats; --format NAME says which; allowed: " + listed(several));
}

/// Its format and its content are read one after the other.
void refuse_pipe(const std::string& input) {
  std::error_code ignored;
  if (std::filesystem::is_fifo(input, ignored))
    throw UsageError(input + ": is a pipe; what is imported is read more than once: give a file");
}

/// Of each input.
std::vector<std::string> formats_of(const ImportArguments& arguments, Terminal& terminal) {
  if (arguments.format) return std::vector(arguments.inputs.size(), *arguments.format);
  std::vector<std::string> formats;
  for (const std::string& input : arguments.inputs) formats.push_back(detected_format(input, terminal));
  const auto own = std::count(formats.begin(), formats.end(), kOwnFormat);
  if (own != 0 && own != std::ssize(formats))
    throw UsageError("stores and foreign profiles cannot be imported together: one command for each");
  return formats;
}

/// Reads foreign profiles into memory; what became of them goes to stdout.
RecordOpener read_profiles(const ImportArguments& arguments, const std::vector<std::string>& formats,
                           Terminal& terminal) {
  const auto records = std::make_shared<store::RecordSet>();
  for (std::size_t i = 0; i < arguments.inputs.size(); ++i) {
    try {
      const import_::ImportReport report =
          import_::import_profile(formats[i], arguments.inputs[i], arguments.options(), *records);
      terminal.print(report.text());
    } catch (const import_::ImportError& error) {
      throw UsageError(error.what());
    }
  }
  if (records->size() == 0)
    throw UsageError(listed(arguments.inputs) + ": nothing to import: no row of it makes a sample");
  store::add_links(*records);
  const std::string name = arguments.inputs.front();
  return [records, name] { return records->stream(name); };
}

std::vector<RecordOpener> own_files(const ImportArguments& arguments) {
  std::vector<RecordOpener> files = openers_of(arguments.inputs);
  if (!arguments.library) return files;
  const NamedLibrary library = named_library(*arguments.library, "--library");
  for (RecordOpener& open : files) open = with_library(open, library);
  return files;
}

ExitCode import_into_store(const ImportArguments& arguments, Terminal& terminal) {
  refuse_device(arguments.store);
  refuse_name_of_others(arguments.store);
  for (const std::string& input : arguments.inputs) refuse_pipe(input);
  const std::vector<std::string> formats = formats_of(arguments, terminal);
  const bool is_own = formats.front() == kOwnFormat;
  if (arguments.library && !is_own) throw UsageError("--library: is for dooly files; --engine names that of others");
  if (is_own) arguments.refuse_foreign_options();
  StoreChange change{.target = arguments.store, .adds = true};
  change.on_conflict = parse_preference(arguments.prefer, "store");
  change.remedy = "--prefer store or --prefer new decides";
  if (is_own)
    change.inputs = own_files(arguments);
  else
    change.inputs.push_back(read_profiles(arguments, formats, terminal));
  return carry_out(change, terminal);
}

// --- merge

ExitCode merge(const std::string& out, const std::vector<std::string>& inputs, OnConflict on_conflict, bool force,
               Terminal& terminal) {
  refuse_device(out);
  refuse_name_of_others(out);
  std::error_code ignored;
  const bool is_there = is_taken(out);
  for (const std::string& input : inputs)
    for (const std::filesystem::path& store : named_stores(input))
      if (is_there && std::filesystem::equivalent(out, store, ignored))
        throw UsageError(out + ": is an input too; dooly store import adds to a store");
  if (is_there && !(force && is_portable(out)))
    throw UsageError(out + ": exists already; " +
                     (is_portable(out) ? "--force replaces it" : "dooly store import adds to a store"));
  StoreChange change{.target = out};
  change.on_conflict = on_conflict;
  change.remedy = "--prefer first or --prefer last decides";
  change.inputs = openers_of(inputs);
  return carry_out(change, terminal);
}

}  // namespace

Command store_import_command() {
  const auto arguments = std::make_shared<ImportArguments>();
  Command command{.name = "import", .purpose = "adds portable files, or foreign profiles, to a store"};
  command.details =
      "Everything is read and checked before anything is written. A point that the store holds with other figures is\n"
      "a conflict: conflicts are listed, and nothing is written (exit status 4) unless --prefer says what to keep.\n"
      "Foreign profiles: what each format holds and which options it needs is in\n" +
      documentation("importing.md") + ".\n";
  command.arguments = {{"STORE", "a directory, made if absent; or a portable file (.jsonl.zst)", &arguments->store},
                       {"FILE", "what to add", &arguments->inputs}};
  ImportArguments& a = *arguments;
  command.options = {
      {"--format", "NAME", "of the files (default: what their content says)", &a.format, import_format_names()},
      {"--prefer", "SIDE", "where figures differ keep those of", &a.prefer, {"store", "new"}},
      {"--library", "NAME=VERSION",
       "dooly files: of the kernel library (flashinfer, triton) that environments do not name yet", &a.library},
      {"--gpu", "NAME", "foreign profiles: the GPU they were measured on", &a.gpu},
      {"--engine", "NAME=VERSION", "foreign profiles: engine or kernel library", &a.engine},
      {"--model", "MODEL", "foreign profiles: the model they are of", &a.model},
      {"--dtype", "DTYPE", "foreign profiles: what they call 16 bit", &a.dtype},
      {"--kv-dtype", "DTYPE", "foreign profiles: of the KV cache", &a.kv_dtype},
      {"--backend", "NAME", "foreign profiles: family of attention", &a.backend},
      {"--topology", "TEXT", "foreign profiles: links of the collectives", &a.topology},
      {"--driver", "VERSION", "foreign profiles: GPU driver", &a.driver},
      {"--cuda", "VERSION", "foreign profiles: CUDA version", &a.cuda},
      {"--tp", "N", "foreign profiles: tensor parallel degree", &a.tp},
      {"--block-size", "N", "foreign profiles: of the KV cache", &a.block_size}};
  command.examples = {"dooly store import my-h200 h200.jsonl.zst",
                      "dooly store import my-h200 profiles/aiconfigurator/h200_sxm --format aiconfigurator"};
  command.action = [arguments](Terminal& terminal) { return import_into_store(*arguments, terminal); };
  return command;
}

Command store_merge_command() {
  struct Arguments {
    std::string out;
    std::vector<std::string> inputs;
    std::optional<std::string> prefer;
    bool force = false;
  };
  const auto arguments = std::make_shared<Arguments>();
  Command command{.name = "merge", .purpose = "unites stores into a new one and reports conflicts"};
  command.details =
      "Records that the inputs hold with different contents are conflicts: they are listed, and nothing is written\n"
      "(exit status 4) unless --prefer says which input wins; of files behind one name, in the order of their names.\n";
  command.arguments = {
      {"OUT", "a new directory, or a portable file (.jsonl.zst)", &arguments->out},
      {"STORE", "directories, portable files, or the beginning of the names of shipped ones", &arguments->inputs}};
  command.options = {
      {"--prefer", "SIDE", "where inputs differ keep what stands in the", &arguments->prefer, {"first", "last"}},
      {"--force", "", "replace a file that is there already", &arguments->force}};
  command.examples = {"dooly store merge all.jsonl.zst gemm.jsonl.zst attention.jsonl.zst"};
  command.action = [arguments](Terminal& terminal) {
    return merge(arguments->out, arguments->inputs, parse_preference(arguments->prefer, "first"), arguments->force,
                 terminal);
  };
  return command;
}

}  // namespace dooly::cli
