#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_import/import_error.hpp"
#include "oracle_import/import_report.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dooly::import_ {

/// What a profile does not say, or says wrongly. Empty or 0: as the files, their place and their format say; what stays
/// unknown and matters is an ImportError that names the option.
struct ImportOptions {
  std::string gpu{};  ///< name in the GPU table where it has one
  std::string engine{};  ///< NAME=VERSION, e.g. vllm=0.19.0
  std::string model{};  ///< shipped name, or path of a config.json
  std::string dtype{};  ///< of weights and activations that the profile calls 16-bit
  std::string kv_dtype{};
  std::string backend{};  ///< family of attention: fa2, fa3, flashinfer, ...
  std::string topology{};  ///< of collectives
  std::string driver{}, cuda{};
  std::uint32_t tensor_parallel = 0;
  std::uint32_t block_size = 0;
};

struct ImportFormat {
  std::string_view name;
  std::string_view purpose;  ///< one line
  std::string_view files;  ///< file names it takes
};

/// Sorted by name. docs/importing.md has a table for each: which operator a foreign column stands for.
std::span<const ImportFormat> import_formats();

/// Formats that the content of a file, or of all files below a folder that are of any, may be of, sorted: one if that
/// is unmistakable, several where formats share a table, none if nothing is known of it (or a folder holds those of
/// several). Throws ImportError or std::filesystem_error for what cannot be read.
std::vector<std::string_view> possible_formats(const std::filesystem::path& path);

/// Reads a file, or every file of the format below a folder, in order of their paths. Samples reach the sink grouped by
/// environment and operator, points ascending, each point once. Times are checked: zero, negative and unreadable ones
/// are dropped; repeated points are merged; those faster than the device can be, out of line with their neighbours, or
/// in disagreement with their repetition are handed over as suspect with the reason in their note.
/// Throws ImportError; what the sink throws passes through.
ImportReport import_profile(std::string_view format, const std::filesystem::path& path, const ImportOptions& options,
                            oracle::SampleSink& sink);

}  // namespace dooly::import_
