#pragma once

#include "model_layers.hpp"
#include "oracle/sample_set.hpp"
#include "oracle_import/export_profile.hpp"

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace dooly::import_ {

struct ExportContext {
  const oracle::SampleSource& source;
  const ExportOptions& options;
  std::filesystem::path directory;
  oracle::ModelConfig model;
  ExportReport& report;

  /// Samples that may be written: one a point. Those at the sustained clock only where there are no others. What is
  /// left out is counted when a key is first asked for.
  std::vector<oracle::Sample> samples(const oracle::OperatorKey& key) const;
  /// Model as it was run on `tp` GPUs, in the types and with the attention that were measured.
  ModelRun run(std::uint32_t tp) const;
  /// Writes a file and counts its rows (lines less the header).
  void write(const std::filesystem::path& relative, const std::string& text, bool rows = true) const;
  /// Where what is there is to be replaced, and this export has written below `folder`: removes those of its files of
  /// these names that it has not written.
  void remove_stale(const std::filesystem::path& folder, const std::vector<std::string>& names) const;
  void missing(const std::string& what) const;
  void note(const std::string& text) const;  ///< once

  mutable std::set<oracle::Signature> counted{};  ///< whose left out samples the report has
};

void export_llmservingsim(const ExportContext& context);
void export_vidur(const ExportContext& context);

}  // namespace dooly::import_
