#pragma once

#include "replica_core/kv_cache.hpp"

#include <cstdint>

namespace dooly::replica {

/// Walks the segments of a request and gives the key of the block that ends at a token. Keys are equal exactly if all
/// tokens up to that end are equal.
class BlockKeys {
 public:
  explicit BlockKeys(const KvRequest& request) : content_(request.content), unique_(request.unique_key) {}

  /// Key for a block that ends at `end_token` (exclusive, >= 1). Fast for ascending calls.
  std::uint64_t at(std::uint32_t end_token) {
    if (index_ > 0 && content_[index_ - 1].end_token >= end_token) index_ = 0;
    while (index_ < content_.size() && content_[index_].end_token < end_token) ++index_;
    const std::uint64_t segment = index_ < content_.size() ? content_[index_].key : unique_;
    return chain_key(segment, end_token, 0, 0);
  }

 private:
  std::span<const ContentSegment> content_;
  std::uint64_t unique_;
  std::size_t index_ = 0;
};

}  // namespace dooly::replica
