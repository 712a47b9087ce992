#pragma once

#include "oracle/environment.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace dooly::store {

// What stores and portable files hold. Records are ordered by kind as in `Record`, then by identity; in that order
// environments and keys come before the samples that need them.

struct EnvironmentRecord {
  std::string id;
  oracle::Environment environment;
  bool operator==(const EnvironmentRecord&) const = default;
};

struct KeyRecord {
  oracle::Signature signature;
  oracle::OperatorKey key;
  bool operator==(const KeyRecord&) const = default;
};

struct SampleRecord {
  std::string environment_id;
  oracle::Signature signature;
  oracle::Sample sample;
  bool operator==(const SampleRecord&) const = default;
};

/// A named JSON document in canonical form.
struct Document {
  std::string name;
  std::string json;
  bool operator==(const Document&) const = default;
};
struct PlanRecord : Document {  ///< a step plan
  bool operator==(const PlanRecord&) const = default;
};
struct CommRecord : Document {  ///< a table of a fabric's collectives
  bool operator==(const CommRecord&) const = default;
};

using Record = std::variant<EnvironmentRecord, KeyRecord, SampleRecord, PlanRecord, CommRecord>;

/// Order by kind and identity; equal means that one store can hold only one of the two.
std::strong_ordering compare_identity(const Record& left, const Record& right);

/// For people's terminals: control characters as \xNN, and what is longer than `most` bytes ends in "...".
std::string printable(std::string_view text, std::size_t most = 400);

/// One line for people, printable: "sample of linear [4096,6144] bfloat16 ... at tokens 128, cool". `key`, if known, of
/// the sample.
std::string title(const Record& record, const oracle::OperatorKey* key = nullptr);
/// "linear bfloat16,bfloat16,bfloat16 4096x6144 cublas (bias true)"
std::string title(const oracle::OperatorKey& key);
std::string title(const oracle::Environment& environment);
/// "128" or "4x512@0": the words of a point up to the last that is not 0, separated by '/'.
std::string point_text(const oracle::SamplePoint& point);

/// Spelling in portable files: cool, sustained, unknown / ok, out_of_memory, launch_failed, unsupported, suspect.
std::string_view regime_name(oracle::ClockRegime regime);
std::string_view status_name(oracle::SampleStatus status);
std::optional<oracle::ClockRegime> regime_named(std::string_view name);
std::optional<oracle::SampleStatus> status_named(std::string_view name);

/// What no store takes: times that are negative, not finite or longer than a day, no median though the status is ok,
/// text that is not UTF-8. Empty: the sample is fine.
std::string fault_of(const oracle::Sample& sample);

/// Records in order, one by one.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  /// False at the end. Throws StoreError for damage.
  virtual bool next(Record& record) = 0;
  virtual const std::string& name() const = 0;  ///< of the store or file, for messages
};

}  // namespace dooly::store
