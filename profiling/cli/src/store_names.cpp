#include "store_names.hpp"

#include "archives.hpp"
#include "cli_error.hpp"
#include "named_stores.hpp"

#include "scenarios/find_store.hpp"

#include <variant>

namespace dooly::profiling {
namespace {

namespace fs = std::filesystem;

MeasuredPoints measured_in(store::RecordStream& records) {
  MeasuredPoints found;
  for (store::Record record; records.next(record);)
    if (const auto* sample = std::get_if<store::SampleRecord>(&record))
      found[sample->signature] += sample->sample.status == oracle::SampleStatus::kOk ? 1 : 0;
  return found;
}

bool is_of_readable_ones(const std::string& name) {
  return !fs::exists(name) && !scenario::stores_called(name).empty();
}

}  // namespace

fs::path store_to_fill(const std::string& name) {
  if (is_of_readable_ones(name))
    throw cli::UsageError("--store: must be a directory to fill, but this names stores that are only read; './" + name +
                          "' is a new directory, got '" + name + "'");
  return name;
}

MeasuredPoints measured_in_store(const std::string& name) {
  if (is_of_readable_ones(name)) return measured_in(*cli::named_records(name, open_records, "--store"));
  return measured_in_file(name);
}

MeasuredPoints measured_in_file(const fs::path& file) {
  return fs::exists(file) ? measured_in(*open_records(file)) : MeasuredPoints{};
}

}  // namespace dooly::profiling
