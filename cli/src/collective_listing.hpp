#pragma once

#include "oracle_store/record.hpp"
#include "oracle_store/signature_store.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace dooly::cli {

/// The collectives of a store, a table for each environment, and the names of what links its GPUs.
class CollectiveListing {
 public:
  /// `store`: the directory they are of; null: a file, which keeps no fits.
  explicit CollectiveListing(const store::SignatureStore* store) : store_(store) {}
  void take(const store::Record& record);
  bool empty() const { return series_.empty() && tables_.empty(); }
  std::string text() const;

 private:
  const store::SignatureStore* store_;
  std::map<std::string, oracle::Environment> environments_;
  std::map<oracle::Signature, oracle::OperatorKey> keys_;  // of collectives alone
  std::map<std::pair<std::string, oracle::Signature>, std::vector<oracle::Sample>> series_;
  std::vector<std::string> tables_;
};

}  // namespace dooly::cli
