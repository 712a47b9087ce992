#pragma once

#include "oracle/gpu.hpp"
#include "oracle/operator_key.hpp"
#include "oracle/sample.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace dooly::oracle {

/// Work of one run of an operator at one point, as its key tells it.
struct PhysicalWork {
  double flops = 0;
  double bytes = 0;  ///< that have to be read or written, each once
  std::string_view compute;  ///< number format of the products
};
/// Which dims or dtypes a key lacks that its kind's work is made of; empty: none, or the work of the kind is not known.
std::string work_fault(const OperatorKey& key);
/// Empty for collectives, and for kinds whose work is not known. Throws OracleError for a key with a `work_fault`.
std::optional<PhysicalWork> physical_work(const OperatorKey& key, const SamplePoint& point);

/// No device of this kind can be faster: the larger of FLOPs over peak, and of bytes beyond what a last-level cache may
/// keep from an earlier repetition (128 MiB, the largest that ships) over memory bandwidth; for collectives what each
/// rank has to receive over the bandwidth of its links. Empty for kinds whose work is not known.
/// Throws OracleError for a key with a `work_fault`.
std::optional<double> physical_limit_s(const OperatorKey& key, const SamplePoint& point, const Gpu& gpu);

/// Measured clocks pass the data sheet's a little: only what is faster than this part of the limit is impossible.
constexpr double kLimitShare = 0.9;

}  // namespace dooly::oracle
