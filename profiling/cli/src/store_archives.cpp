#include "archives.hpp"

#include "oracle_store/signature_store.hpp"
#include "oracle_store/sources.hpp"

namespace dooly::profiling {
namespace {

using store::SignatureStore;

class StoreOpen final : public OpenArchive {
 public:
  explicit StoreOpen(const std::filesystem::path& directory)
      : directory_(directory),
        store_(SignatureStore::open(directory, SignatureStore::Mode::kCreate)) {}
  void environment(const oracle::Environment& environment) override {
    environment_id_ = store_.put_environment(environment);
  }
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override {
    store_.put(environment_id_, store_.put_key(key), sample);
  }
  std::vector<oracle::SampleSet> measured() const override {
    std::vector<oracle::SampleSet> sets;
    for (const oracle::Signature& signature : store_.signatures(environment_id_))
      if (const auto key = store_.key(signature))
        sets.push_back({*key, signature, store_.samples(environment_id_, signature)});
    return sets;
  }
  void links(const store::CommRecord& record) override { store_.put_comm(record.name, record.json); }
  void note(const std::string& json) override { store_.add_to_journal(json); }
  void close() override { store_.close(); }
  std::string where() const override { return directory_.string(); }

 private:
  std::filesystem::path directory_;
  std::string environment_id_;
  SignatureStore store_;
};

}  // namespace

std::unique_ptr<OpenArchive> open_store(const std::filesystem::path& directory) {
  return std::make_unique<StoreOpen>(directory);
}

std::unique_ptr<store::RecordStream> open_records(const std::filesystem::path& path) {
  return store::open_records(path);
}

}  // namespace dooly::profiling
