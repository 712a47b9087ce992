#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_import/import_error.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::import_ {

/// What to write, and for what.
struct ExportOptions {
  std::string model{};                             ///< shipped name, or path of a config.json
  std::string gpu{};                               ///< names the folder
  std::vector<std::uint32_t> tensor_parallel{1};
  std::string dtype{};                             ///< empty: the one that most operators were measured in
  std::string kv_dtype{};                          ///< empty: as dtype
  std::string backend{};                           ///< family of attention; empty: the first that was measured
  std::string engine{};                            ///< NAME=VERSION, for the record
  std::string cuda{};                              ///< major version, for the record
  std::uint32_t block_size = 16;
  bool suspects = false;                         ///< also samples that are marked suspect
  bool replace = false;  ///< removes what an earlier export of the model wrote and this one does not
};

struct ExportReport {
  std::vector<std::string> files;                ///< written, below the folder
  std::vector<std::string> removed;              ///< files of an earlier export that this one does not write
  std::uint64_t rows = 0;
  std::map<std::string, std::uint64_t> left_out; ///< samples that were not written, by reason
  std::vector<std::string> missing;  ///< operators that nobody measured: their columns or rows are absent
  std::vector<std::string> notes;
  std::string text() const;
};

struct ExportFormat {
  std::string_view name;
  std::string_view purpose;
};
/// llmservingsim (1.x) and vidur, sorted.
std::span<const ExportFormat> export_formats();

/// Writes the files that a simulator reads as its own profile, below `directory`. Reading them again with
/// `import_profile` gives the same samples, as far as the layout can hold them: what it cannot is counted in
/// `left_out`. Files of the same name are replaced; with `replace`, the model's other files of the layout are removed.
/// Throws ImportError if the format or the model is unknown, nothing fits, or a file cannot be written.
ExportReport export_profile(std::string_view format, const oracle::SampleSource& source, const ExportOptions& options,
                            const std::filesystem::path& directory);

}  // namespace dooly::import_
