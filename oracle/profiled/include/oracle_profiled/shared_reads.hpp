#pragma once

#include "oracle/batch_shape.hpp"
#include "oracle/gpu.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::oracle {

/// What decodes save that read KV blocks which others of the batch hold, too: what one of them has just read, the
/// device's cache still has for the next. That helps only among the sequences that it works on at about the same time,
/// and only with what is read, not with the start of the kernel.
///
/// Measured with FlashAttention 3 on an H200 (docs/predicting.md, "Shared prefixes"): of what is read again
/// kMost × (1 - exp(-kReach × sequences in flight ÷ sequences between two readers)) is saved.
class SharedReads {
 public:
  /// Whether this was measured on such a device. Caches of others differ, and nothing is claimed of them.
  static bool is_measured(const Gpu& gpu) { return gpu.name == "H200-SXM"; }

  SharedReads() = default;
  /// `in_flight`: sequences whose tiles fill the device once; 0: not known, nothing is saved.
  explicit SharedReads(double in_flight) : in_flight_(in_flight) {}

  /// Share of the reads that come again while what they want is still there; depends on who shares, not on how much.
  double reach(const BatchShape& shape) const {
    if (shape.shared_tokens == 0 || in_flight_ <= 0) return 0;
    const double readers = 1 + static_cast<double>(shape.repeated_tokens) / static_cast<double>(shape.shared_tokens);
    const double apart = std::max(1.0, static_cast<double>(shape.requests()) / readers);
    return kMost * (1 - std::exp(-kReach * in_flight_ / apart));
  }
  /// Share of the time for reading that the decodes of `shape` save. All requests are taken to share alike.
  static double saved(double reach, const BatchShape& shape) {
    double held = static_cast<double>(shape.decode_context);
    for (const PrefillChunk& chunk : shape.prefills) held += chunk.context;
    return held > 0 ? reach * std::min(1.0, static_cast<double>(shape.repeated_tokens) / held) : 0;
  }

 private:
  static constexpr double kMost = 0.35, kReach = 1.31;
  double in_flight_ = 0;
};

}  // namespace dooly::oracle
