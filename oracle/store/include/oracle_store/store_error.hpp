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

/// A directory in which the making of a store was cut short: a writer that makes stores goes on. Names the path.
class StoreUnfinished : public StoreError {
 public:
  using StoreError::StoreError;
};

/// What was begun cannot be written to its end: the disk is full or broken. Names the path.
class StoreWriteFailed : public StoreError {
 public:
  using StoreError::StoreError;
};

}  // namespace dooly::store
