#pragma once

#include "oracle/sample_set.hpp"
#include "oracle_store/record.hpp"
#include "profiling_sweep/operation.hpp"

#include <map>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Where a sweep puts its samples, each safe when sample() returns, and finds what is there already. All of it is of
/// the environment that was set last.
class SampleArchive : public oracle::SampleSink {
 public:
  /// What was measured before, by signature.
  virtual std::vector<oracle::SampleSet> measured() const = 0;
  /// What links the GPUs of the machine (store::links_record).
  virtual void links(const store::CommRecord& record) = 0;
  /// A line of history: JSON.
  virtual void note(const std::string& json) = 0;
};

using SamplesBySignature = std::map<oracle::Signature, std::vector<oracle::Sample>>;
/// What an archive has of these operations, each in the environment that it has on the machine
/// (oracle::environment_of). Sets the archive's environment.
SamplesBySignature measured_in(SampleArchive& archive, const std::vector<Operation>& operations,
                               const oracle::Environment& machine);

/// In memory, for tests and dry runs.
class MemoryArchive final : public SampleArchive {
 public:
  void environment(const oracle::Environment& environment) override { environment_ = environment; }
  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) override;
  std::vector<oracle::SampleSet> measured() const override;
  void links(const store::CommRecord& record) override { links_.push_back(record); }
  void note(const std::string& json) override { notes_.push_back(json); }

  const oracle::Environment& environment() const { return environment_; }  ///< that was set last
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<store::CommRecord>& links() const { return links_; }  ///< in the order of the calls

 private:
  oracle::Environment environment_;
  std::map<std::string, std::map<oracle::Signature, oracle::SampleSet>> sets_;  // by environment
  std::vector<std::string> notes_;
  std::vector<store::CommRecord> links_;
};

}  // namespace dooly::profiling
