#include "named_library.hpp"

#include "cli_error.hpp"
#include "text.hpp"

#include "oracle/kernel_families.hpp"
#include "oracle_store/record_set.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace dooly::cli {
namespace {

/// Goes through a stream once and fills a set of records.
class Naming {
 public:
  Naming(const NamedLibrary& library, store::RecordSet& into) : library_(library), into_(into) {}

  void take(store::Record record) {
    if (auto* environment = std::get_if<store::EnvironmentRecord>(&record)) {
      environments_.emplace(environment->id, std::move(environment->environment));
      return;  // it comes with its samples
    }
    if (const auto* key = std::get_if<store::KeyRecord>(&record)) keys_.emplace(key->signature, key->key);
    if (auto* sample = std::get_if<store::SampleRecord>(&record)) name(*sample);
    into_.put(std::move(record));
  }

  /// An environment that never had samples stays.
  std::size_t finish() {
    for (const auto& [id, environment] : environments_)
      if (!used_.contains(id)) into_.put(store::EnvironmentRecord{id, environment});
    return named_;
  }

 private:
  void name(store::SampleRecord& record) {
    used_.insert(record.environment_id);
    oracle::Environment environment = environments_.at(record.environment_id);
    const oracle::OperatorKey& key = keys_.at(record.signature);
    if (environment.source == "measured") {
      if (record.sample.kernel_family.empty())
        record.sample.kernel_family = oracle::kernel_family(record.sample.kernels);
      if (oracle::kernel_library(key) == library_.name && !environment.libraries.contains(library_.name)) {
        environment.libraries[library_.name] = library_.version;
        record.environment_id = oracle::environment_id(environment);
        ++named_;
      }
    }
    into_.put(store::EnvironmentRecord{record.environment_id, std::move(environment)});
  }

  const NamedLibrary& library_;
  store::RecordSet& into_;
  std::map<std::string, oracle::Environment> environments_;
  std::map<oracle::Signature, oracle::OperatorKey> keys_;
  std::set<std::string> used_;
  std::size_t named_ = 0;
};

bool may_be_in_a_version(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' ||
         c == '_' || c == '-';
}

}  // namespace

NamedLibrary named_library(const std::string& text, const std::string& option) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw UsageError(option + ": must be NAME=VERSION, got '" + text + "'");
  NamedLibrary library{text.substr(0, equals), text.substr(equals + 1)};
  if (!std::all_of(library.version.begin(), library.version.end(), may_be_in_a_version))
    throw UsageError(option + ": a version has letters, digits and . + _ - alone, got '" + text + "'");
  const std::vector<std::string> known = oracle::kernel_libraries();
  if (std::find(known.begin(), known.end(), library.name) == known.end())
    throw UsageError(option + ": " + refused_word("unknown kernel library", library.name, known));
  return library;
}

RecordOpener with_library(const RecordOpener& records, const NamedLibrary& library) {
  const auto named = std::make_shared<store::RecordSet>();
  const auto stream = records();
  const std::string name = stream->name();
  Naming naming(library, *named);
  for (store::Record record; stream->next(record);) naming.take(std::move(record));
  if (naming.finish() == 0)
    throw UsageError(name + ": holds no sample of kernels of " + library.name + " whose environment does not name it");
  return [named, name] { return named->stream(name); };
}

}  // namespace dooly::cli
