#pragma once

#include "oracle_store/record.hpp"
#include "profiling_sweep/sample_archive.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace dooly::profiling {

/// An archive that has to be closed: what was measured is in place afterwards.
class OpenArchive : public SampleArchive {
 public:
  virtual void close() = 0;
  virtual std::string where() const = 0;
};

std::unique_ptr<OpenArchive> open_portable(const std::filesystem::path& file);
/// Throws what open_portable() would because of what lies there: no portable file, or no unfinished one beside it.
/// Leaves nothing.
void refuse_unfillable(const std::filesystem::path& file);
/// Throws UsageError in a build without the store.
std::unique_ptr<OpenArchive> open_store(const std::filesystem::path& directory);

/// Of a portable file, or a directory. Throws UsageError for a directory in a build without the store.
std::unique_ptr<store::RecordStream> open_records(const std::filesystem::path& path);

}  // namespace dooly::profiling
