#include "archives.hpp"
#include "cli_error.hpp"

#include "oracle_store/portable_file.hpp"

#include <filesystem>
#include <memory>

namespace dooly::profiling {

std::unique_ptr<OpenArchive> open_store(const std::filesystem::path&) {
  throw cli::UsageError(
      "--store: this dooly-profile was built without the store; --out FILE.jsonl.zst works, and "
      "`dooly store import` takes the file into a store");
}

std::unique_ptr<store::RecordStream> open_records(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    throw cli::UsageError(
        path.string() +
        ": this dooly-profile was built without the store and reads files alone; 'dooly store export' "
        "makes one");
  return std::make_unique<store::PortableReader>(path);
}

}  // namespace dooly::profiling
