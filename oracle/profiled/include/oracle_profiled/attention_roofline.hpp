#pragma once

#include "oracle/operators.hpp"
#include "oracle_profiled/dealt_kernel.hpp"
#include "oracle_profiled/flash_tiles.hpp"

#include <algorithm>
#include <memory>
#include <optional>

namespace dooly::oracle {

/// Work and least time of one attention operator.
struct AttentionRoofline {
  AttentionKind kind = AttentionKind::kFull;
  double window = 0;        ///< tokens
  double pair_s = 0;        ///< prefill: seconds for one query token and one token it attends to
  double decode_pair_s = 0; ///< decode: the same, computing alone
  double token_s = 0;       ///< seconds to read one token's keys and values
  double kernel_s = 0;
  double in_flight = 0;  ///< decodes that fill the device once, by a tile for each KV head; 0: not known
  std::optional<FlashTiles> tiles = {};  ///< where it is known how a launch is cut
  std::shared_ptr<const DealtKernel> dealt = {};  ///< the same of other kernels

  bool is_tiled() const { return tiles || dealt; }

  /// Tokens that a token attends to with `context` tokens before it.
  double attended(double context) const {
    return kind == AttentionKind::kFull ? context + 1 : std::min(context + 1, window);
  }
  /// Pairs of a chunk; continuous in both.
  double pairs(double query, double context) const {
    if (kind == AttentionKind::kFull) return query * (context + (query + 1) / 2);
    return pairs_up_to(context + query) - pairs_up_to(context);
  }
  /// Tokens whose keys and values a chunk reads.
  double kv_tokens(double query, double context) const {
    return query + (kind == AttentionKind::kFull ? context : std::min(context, std::max(0.0, window - 1)));
  }
  double decode_s(double decodes, double attended_mean) const {
    return kernel_s + decodes * attended_mean * std::max(decode_pair_s, token_s);
  }

 private:
  double pairs_up_to(double x) const {
    return x <= window ? x * (x + 1) / 2 : window * (window + 1) / 2 + (x - window) * window;
  }
};

}  // namespace dooly::oracle
