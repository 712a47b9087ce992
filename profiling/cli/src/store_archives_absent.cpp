#include "archives.hpp"
#include "cli_error.hpp"

#include "oracle_store/portable_file.hpp"

#include <variant>

namespace dooly::profiling {

std::unique_ptr<OpenArchive> open_store(const std::filesystem::path&) {
  throw cli::UsageError(
      "--store: this dooly-profile was built without the store; --out FILE.jsonl.zst works, and "
      "`dooly store import` takes the file into a store");
}

std::set<oracle::Signature> measured_in(const std::filesystem::path& path) {
  std::set<oracle::Signature> found;
  if (!std::filesystem::exists(path)) return found;
  store::PortableReader records(path);
  for (store::Record record; records.next(record);)
    if (const auto* sample = std::get_if<store::SampleRecord>(&record)) found.insert(sample->signature);
  return found;
}

}  // namespace dooly::profiling
