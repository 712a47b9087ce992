#pragma once

#include "oracle/oracle_error.hpp"

namespace dooly::store {

/// A store or portable file cannot be opened, is of a foreign schema version, is damaged, or was offered what it cannot
/// hold. Names path and record.
class StoreError : public oracle::OracleError {
 public:
  using oracle::OracleError::OracleError;
};

/// The bytes are not those that were written. Names path and record.
class StoreDamaged : public StoreError {
 public:
  using StoreError::StoreError;
};

}  // namespace dooly::store
