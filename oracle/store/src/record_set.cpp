#include "oracle_store/record_set.hpp"

#include "oracle_store/store_error.hpp"

namespace dooly::store {

void RecordSet::environment(const oracle::Environment& environment) {
  environment_id_ = oracle::environment_id(environment);
  put(EnvironmentRecord{environment_id_, environment});
}

void RecordSet::sample(const oracle::OperatorKey& key, const oracle::Sample& sample) {
  if (environment_id_.empty()) throw StoreError("a sample came before its environment");
  SampleRecord record{environment_id_, oracle::signature_of(key), sample};
  if (const std::string fault = fault_of(sample); !fault.empty()) throw StoreError(title(record, &key) + ": " + fault);
  put(KeyRecord{record.signature, key});
  put(std::move(record));
}

bool RecordSet::put(Record record) {
  const auto [at, is_new] = records_.insert(record);
  if (is_new) return true;
  if (*at == record) return false;
  const auto hint = records_.erase(at);
  records_.insert(hint, std::move(record));
  return true;
}

std::unique_ptr<RecordStream> RecordSet::stream(std::string name) const {
  class Stream final : public RecordStream {
   public:
    Stream(const std::set<Record, ByIdentity>& records, std::string name)
        : at_(records.begin()),
          end_(records.end()),
          name_(std::move(name)) {}
    bool next(Record& record) override {
      if (at_ == end_) return false;
      record = *at_++;
      return true;
    }
    const std::string& name() const override { return name_; }

   private:
    std::set<Record, ByIdentity>::const_iterator at_, end_;
    std::string name_;
  };
  return std::make_unique<Stream>(records_, std::move(name));
}

}  // namespace dooly::store
