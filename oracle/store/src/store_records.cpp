#include "oracle_store/signature_store.hpp"
#include "record_codec.hpp"
#include "store_impl.hpp"

#include <cstring>

namespace dooly::store {
namespace {

/// All records of a database in the order of portable files, as they were when this began.
class StoreRecords final : public RecordStream {
 public:
  explicit StoreRecords(const Database& database)
      : database_(database),
        name_(database.directory().string()),
        iterators_(database.scan(order())) {
    iterators_[0]->SeekToFirst();
  }

  bool next(Record& record) override {
    while (!iterators_[at_]->Valid()) {
      database_.check(iterators_[at_]->status(), "read");
      if (++at_ == iterators_.size()) return --at_, false;
      iterators_[at_]->SeekToFirst();
    }
    const rocksdb::Iterator& iterator = *iterators_[at_];
    const Family family = order()[at_];
    read(family, view(iterator.key()), database_.payload(family, iterator), record);
    iterators_[at_]->Next();
    return true;
  }
  const std::string& name() const override { return name_; }

 private:
  static const std::vector<Family>& order() {
    static const std::vector<Family> families = {Family::kEnv, Family::kSignature, Family::kSample, Family::kPlan,
                                                 Family::kComm};
    return families;
  }

  static void read(Family family, std::string_view key, std::string_view payload, Record& record) {
    switch (family) {
      case Family::kEnv: record = EnvironmentRecord{hex_of(key), parsed_environment(key, payload)}; return;
      case Family::kSignature: {
        KeyRecord made{{}, parsed_key(key, payload)};
        std::memcpy(made.signature.bytes.data(), key.data(), made.signature.bytes.size());
        record = std::move(made);
        return;
      }
      case Family::kPlan: record = PlanRecord{{std::string(key), std::string(payload)}}; return;
      case Family::kComm: record = CommRecord{{std::string(key), std::string(payload)}}; return;
      default: break;
    }
    auto* sample = std::get_if<SampleRecord>(&record);
    parse_sample(key, payload, sample != nullptr ? *sample : record.emplace<SampleRecord>());
  }

  const Database& database_;
  std::string name_;
  std::vector<std::unique_ptr<rocksdb::Iterator>> iterators_;
  std::size_t at_ = 0;
};

}  // namespace

std::unique_ptr<RecordStream> SignatureStore::records() const {
  return std::make_unique<StoreRecords>(impl_->database);
}

}  // namespace dooly::store
