#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_store/record.hpp"

#include <memory>
#include <set>
#include <string>

namespace dooly::store {

/// Records in memory, in order: takes samples as a sink does and hands them out as a stream.
class RecordSet final : public oracle::SampleSink {
 public:
  void environment(const oracle::Environment& environment) override;
  /// Throws StoreError for what no store takes. A sample replaces an older one of the same point.
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override;
  /// True if it was new or differs from what was there.
  bool put(Record record);

  const std::string& environment_id() const { return environment_id_; }  ///< of the samples that come
  bool contains(const Record& identity) const { return records_.contains(identity); }
  std::size_t size() const { return records_.size(); }
  /// Must not outlive this, nor see it change.
  std::unique_ptr<RecordStream> stream(std::string name) const;

 private:
  struct ByIdentity {
    bool operator()(const Record& left, const Record& right) const { return std::is_lt(compare_identity(left, right)); }
  };
  std::string environment_id_;
  std::set<Record, ByIdentity> records_;
};

}  // namespace dooly::store
