#include "oracle_import/export_profile.hpp"

#include "exporter.hpp"
#include "files/whole_file.hpp"
#include "oracle/model_table.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace dooly::import_ {
namespace {

constexpr std::array kFormats{
    ExportFormat{"llmservingsim", "a profile folder of LLMServingSim 1.x"},
    ExportFormat{"vidur", "Vidur's compute and network tables"},
};

/// How many of the model's operators the source knows in this type.
std::size_t known_operators(const ExportContext& context, ModelRun run, const std::string& dtype) {
  run.dtype = run.kv_dtype = dtype;
  std::size_t known = 0;
  for (const auto& [name, key] : model_layers(run))
    if (!context.source.samples(signature_of(key)).empty()) ++known;
  return known;
}

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

std::string ExportReport::text() const {
  std::string out = fmt::format("{} rows in {} files\n", rows, files.size());
  for (const std::string& file : files) out.append("  ").append(file).append("\n");
  if (!removed.empty()) out += "Removed, since they are of an earlier export and not of this one:\n";
  for (const std::string& file : removed) out.append("  ").append(file).append("\n");
  if (!missing.empty()) out += fmt::format("Nobody measured: {}\n", fmt::join(missing, ", "));
  for (const auto& [reason, count] : left_out) out += fmt::format("Left out: {} samples: {}\n", count, reason);
  for (const std::string& note : notes) out.append(note).append("\n");
  return out;
}

std::vector<oracle::Sample> ExportContext::samples(const oracle::OperatorKey& key) const {
  const oracle::Signature signature = signature_of(key);
  const bool is_first = counted.insert(signature).second;
  const auto leave_out = [&](const char* reason) {
    if (is_first) ++report.left_out[reason];
  };
  std::vector<oracle::Sample> kept;
  for (oracle::Sample& sample : source.samples(signature)) {
    const bool usable = sample.status == oracle::SampleStatus::kOk ||
                        (sample.status == oracle::SampleStatus::kSuspect && options.suspects);
    if (usable)
      kept.push_back(std::move(sample));
    else
      leave_out(sample.status == oracle::SampleStatus::kSuspect ? "suspect" : "failed measurements");
  }
  const auto is_hot = [](const oracle::Sample& sample) { return sample.regime == oracle::ClockRegime::kSustained; };
  if (!std::all_of(kept.begin(), kept.end(), is_hot))
    for (auto left = std::erase_if(kept, is_hot); left > 0; --left)
      leave_out("at the sustained clock; the layout has one time a point");
  return kept;
}

ModelRun ExportContext::run(std::uint32_t tp) const {
  ModelRun run{.model = model};
  run.tensor_parallel = tp;
  run.block_size = options.block_size;
  const std::string own(oracle::dtype_name(model.dtype));
  run.dtype = options.dtype;
  if (run.dtype.empty()) {
    std::size_t best = 0;
    run.dtype = own;
    for (const std::string& dtype : {own, std::string("bfloat16"), std::string("float16"), std::string("float32")})
      if (const std::size_t known = known_operators(*this, run, dtype); known > best) best = known, run.dtype = dtype;
  }
  run.kv_dtype = options.kv_dtype.empty() ? run.dtype : options.kv_dtype;
  run.attention_family = options.backend;
  if (!options.backend.empty()) return run;
  run.attention_family = "fa3";
  for (const char* family : {"fa3", "fa2", "flashinfer", "triton", "fa4", "torch"}) {
    ModelRun tried = run;
    tried.attention_family = family;
    const auto layers = model_layers(tried);
    const auto attention = layers.find("attention");
    if (attention == layers.end() || source.samples(signature_of(attention->second)).empty()) continue;
    return tried;
  }
  return run;
}

void ExportContext::write(const std::filesystem::path& relative, const std::string& text, bool rows) const {
  const std::filesystem::path path = directory / relative;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  files::write_whole_file(path, text);
  report.files.push_back(relative.string());
  if (rows) report.rows += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) - 1;
}

void ExportContext::remove_stale(const std::filesystem::path& folder, const std::vector<std::string>& names) const {
  const bool has_written = std::any_of(report.files.begin(), report.files.end(), [&](const std::string& file) {
    return file.starts_with((folder / "").string());
  });
  if (!options.replace || !has_written) return;
  for (const std::string& name : names) {
    const std::string file = (folder / name).string();
    if (std::find(report.files.begin(), report.files.end(), file) != report.files.end()) continue;
    std::error_code error;
    if (std::filesystem::remove(directory / file, error)) report.removed.push_back(file);
    if (error)
      throw ImportError(fmt::format("{}: cannot be removed: {}", (directory / file).string(), error.message()));
  }
}

void ExportContext::missing(const std::string& what) const {
  if (std::find(report.missing.begin(), report.missing.end(), what) == report.missing.end())
    report.missing.push_back(what);
}

void ExportContext::note(const std::string& text) const {
  if (std::find(report.notes.begin(), report.notes.end(), text) == report.notes.end()) report.notes.push_back(text);
}

ExportReport export_profile(std::string_view format, const oracle::SampleSource& source, const ExportOptions& options,
                            const std::filesystem::path& directory) {
  if (std::none_of(kFormats.begin(), kFormats.end(), [&](const ExportFormat& known) { return known.name == format; }))
    throw ImportError(fmt::format("cannot export to format '{}'; known: llmservingsim, vidur", format));
  if (options.gpu.empty()) throw ImportError("the layout is ordered by GPU; say which one with --gpu NAME");
  if (options.model.empty()) throw ImportError("the layout is ordered by model; say which one with --model NAME");
  if (options.gpu.find('/') != std::string::npos || options.gpu == "." || options.gpu == "..")
    throw ImportError(fmt::format("--gpu: names a folder, and cannot be '{}'", options.gpu));
  ExportReport report;
  try {
    const ExportContext context{source, options, directory, oracle::resolve_model(options.model), report};
    if (format == "vidur")
      export_vidur(context);
    else
      export_llmservingsim(context);
  } catch (const oracle::OracleError& error) {
    throw ImportError(error.what());
  }
  if (report.rows == 0)
    throw ImportError(fmt::format("nothing to export: no operator of {} was measured", options.model));
  return report;
}

}  // namespace dooly::import_
