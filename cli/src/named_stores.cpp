#include "named_stores.hpp"

#include "cli_error.hpp"

#include "oracle_store/compare.hpp"
#include "oracle_store/record_set.hpp"
#include "scenarios/find_store.hpp"

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

/// Several stores as one, in memory.
class MergedRecords final : public store::RecordStream {
 public:
  MergedRecords(const std::string& name, const std::vector<fs::path>& paths, const StoreReader& open) {
    std::vector<std::unique_ptr<store::RecordStream>> inputs;
    std::vector<store::RecordStream*> pointers;
    for (const fs::path& path : paths) pointers.push_back(inputs.emplace_back(open(path)).get());
    store::merge(
        pointers, store::Prefer::kFirst, [&](const store::Record& record, std::size_t) { records_.put(record); },
        [&](const store::Difference& difference) {
          throw UsageError(name + ": these stores contradict each other: " + store::difference_text(difference));
        });
    stream_ = records_.stream(name);
  }
  bool next(store::Record& record) override { return stream_->next(record); }
  const std::string& name() const override { return stream_->name(); }

 private:
  store::RecordSet records_;
  std::unique_ptr<store::RecordStream> stream_;
};

}  // namespace

std::vector<fs::path> named_stores(const std::string& name, const std::string& option) {
  const fs::file_status there = fs::status(name);  // throws where the name can never do, as of a link to itself
  if (fs::is_other(there)) return {name};          // whoever reads it says what is wrong with it
  try {
    if (name.empty()) throw std::string("names no store");
    const fs::path shipped = scenario::shipped_stores();
    return scenario::find_store(name, name, shipped.empty() ? std::vector<fs::path>{} : std::vector{shipped});
  } catch (const std::string& what) {
    throw UsageError(option.empty() ? name + ": " + what : option + ": " + what + ", got '" + name + "'");
  }
}

std::unique_ptr<store::RecordStream> named_records(const std::string& name, const StoreReader& open,
                                                   const std::string& option) {
  const std::vector<fs::path> paths = named_stores(name, option);
  if (paths.size() == 1) return open(paths.front());
  return std::make_unique<MergedRecords>(name, paths, open);
}

}  // namespace dooly::cli
