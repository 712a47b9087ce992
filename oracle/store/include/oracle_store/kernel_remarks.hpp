#pragma once

#include "oracle/environment.hpp"
#include "oracle_store/record.hpp"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dooly::store {

/// What is odd about the kernel families that samples of one operator in one environment ran: that they are several,
/// and each that is not the one which the key names. Of foreign profiles, whose kernels have names of their own, the
/// first.
std::vector<std::string> kernel_remarks(const oracle::Environment& environment, const oracle::OperatorKey& key,
                                        const std::set<std::string>& ran);

/// The same for the records of a stream.
class KernelRemarks {
 public:
  void take(const Record& record);
  /// By series: its name, and what is odd.
  std::vector<std::pair<std::string, std::string>> all() const;

 private:
  std::map<std::string, oracle::Environment> environments_;
  std::map<oracle::Signature, oracle::OperatorKey> keys_;
  std::map<std::pair<std::string, oracle::Signature>, std::set<std::string>> ran_;
};

/// "samples of 9ab34c012345 (linear 4096x6144 …) in environment 45618d93f067".
std::string series_title(const oracle::Signature& signature, const oracle::OperatorKey* key,
                         const std::string& environment_id);

}  // namespace dooly::store
