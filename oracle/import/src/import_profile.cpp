#include "oracle_import/import_profile.hpp"

#include "files_below.hpp"
#include "importer.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace dooly::import_ {
namespace {

struct Importer {
  ImportFormat format;
  ReadFile read;
  std::string_view extensions;  ///< of files looked at below a folder
};

constexpr std::array kImporters{
    Importer{{"aiconfigurator", "kernel tables of NVIDIA's AIConfigurator", "*_perf.csv[.gz]"},
             read_aiconfigurator,
             ".csv.txt"},
    Importer{{"apex", "collective tables of APEX+", "all_reduce.csv, ..."}, read_apex, ".csv"},
    Importer{{"dooly-sqlite", "database of the Dooly reference implementation", "*.db, *.sqlite"},
             read_dooly_sqlite,
             ".db.sqlite.sqlite3"},
    Importer{
        {"frontier", "Vidur-like operator tables with experts", "attention*.csv, linear_op*.csv, mlp.csv, moe.csv"},
        read_frontier,
        ".csv"},
    Importer{
        {"infersim", "kernel tables of InferSim", "gemm|mha|mla|grouped_gemm|gdn|dsa/**.csv"}, read_infersim, ".csv"},
    Importer{{"llmservingsim", "vLLM layers of LLMServingSim 1.x",
              "dense.csv, per_sequence.csv, attention.csv, moe.csv, skew.csv"},
             read_llmservingsim,
             ".csv"},
    Importer{{"llmservingsim-v0", "layers of the older LLMServingSim", "layers.csv, attention.csv"},
             read_llmservingsim_v0,
             ".csv"},
    Importer{{"nccl-tests", "printed output of nccl-tests", "*.txt, *.log, *.out"}, read_nccl_tests, ".txt.log.out"},
    Importer{{"splitwise", "whole iterations of SplitwiseSim", "perf_model.csv"}, read_splitwise, ".csv"},
    Importer{{"vidur", "operators, collectives and CPU times of Vidur",
              "mlp.csv, attention.csv, all_reduce.csv, send_recv.csv, *cpu_overheads.csv"},
             read_vidur,
             ".csv"},
};

constexpr auto kFormats = [] {
  std::array<ImportFormat, kImporters.size()> formats{};
  for (std::size_t i = 0; i < formats.size(); ++i) formats[i] = kImporters[i].format;
  return formats;
}();

const Importer& importer_for(std::string_view name) {
  std::string known;
  for (const Importer& importer : kImporters) {
    if (importer.format.name == name) return importer;
    known.append(known.empty() ? "" : ", ").append(importer.format.name);
  }
  throw ImportError(fmt::format("unknown profile format '{}'; known: {}", name, known));
}

/// Name without .gz and .csv (or what else the format takes); empty extension: none of the format's.
std::pair<std::string, std::string> stem_and_extension(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz") name = name.stem();
  return {name.stem().string(), name.extension().string()};
}

bool takes(const Importer& importer, const std::string& extension) {
  if (extension.empty()) return false;
  const auto at = importer.extensions.find(extension);
  if (at == std::string_view::npos) return false;
  const auto end = at + extension.size();
  return end == importer.extensions.size() || importer.extensions[end] == '.';
}

ProfileFile profile_file(const std::filesystem::path& path, const std::filesystem::path& root) {
  ProfileFile file{.path = path};
  file.shown = path == root ? path.filename().string() : path.lexically_relative(root).string();
  file.stem = stem_and_extension(path).first;
  for (const auto& part : std::filesystem::absolute(path).lexically_normal().parent_path())
    if (part != "/") file.parts.push_back(part.string());
  return file;
}

std::vector<std::filesystem::path> tables_below(const std::filesystem::path& root, const Importer& importer) {
  std::vector<std::filesystem::path> paths = files_below(root);
  std::erase_if(paths, [&](const auto& path) { return !takes(importer, stem_and_extension(path).second); });
  return paths;
}

}  // namespace

std::span<const ImportFormat> import_formats() { return kFormats; }

ImportReport import_profile(std::string_view format, const std::filesystem::path& path, const ImportOptions& options,
                            oracle::SampleSink& sink) {
  const Importer& importer = importer_for(format);
  check_dtype_option("--dtype", options.dtype);
  check_dtype_option("--kv-dtype", options.kv_dtype);
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw ImportError(fmt::format("{}: no such file or folder", path.string()));
  const bool folder = std::filesystem::is_directory(status);
  ImportReport report;
  report.format = format;
  SampleCollector collector(report);
  ImportContext context{options, collector, report};
  try {
    const auto files = folder ? tables_below(path, importer) : std::vector{path};
    for (const auto& each : files) importer.read(profile_file(each, path), context);
  } catch (const oracle::OracleError& bad) {
    throw ImportError(fmt::format("{}: {}", report.files.empty() ? path.string() : report.files.back(), bad.what()));
  } catch (const std::filesystem::filesystem_error& bad) {
    throw ImportError(fmt::format("{}: cannot be read: {}", bad.path1().string(), bad.code().message()));
  }
  if (report.files.empty()) {
    std::string why;
    for (const auto& [what, reason] : report.skipped) why += fmt::format("; {}: {}", what, reason);
    throw ImportError(fmt::format("{}: no file of format {} ({}){}", path.string(), format, importer.format.files,
                                  why.substr(0, 400)));
  }
  collector.finish(sink);
  return report;
}

}  // namespace dooly::import_
