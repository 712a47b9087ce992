#include "run_kv_cache.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace dooly::replica {
namespace {

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

}  // namespace

RunKvCache::RunKvCache(const EngineConfig& config)
    : config_(config),
      block_size_(config.groups.front().block_size),
      free_(config.num_blocks - 1),
      unkeyed_(config.num_blocks - 1) {}

void RunKvCache::open(std::uint32_t slot) {
  if (requests_.size() <= slot) requests_.resize(slot + 1);
  Holding& holding = requests_[slot];
  holding.shared.clear();
  holding.length = holding.cached = holding.run = holding.run_start = holding.named = holding.shared_blocks = 0;
  holding.holds_table = false;
  ++holding.generation;
  if (pending_slot_ == slot) pending_slot_ = 0xFFFFFFFFU;
}

// --- prefix hits

/// What is the request's alone beyond its content, if it has to have identity (see name_blocks).
RunKvCache::Stretch RunKvCache::own_stretch(const KvRequest& request) const {
  const std::uint32_t start = request.content.empty() ? 0 : request.content.back().end_token / block_size_;
  return {chain_key(request.slot, requests_[request.slot].generation, 0x6F776EU, 0), start, ContentSegment::kOpenEnd};
}

/// Visits the ranges of the stretch's cached blocks from block `index` on, up to `limit`; returns where it ended.
template <class Visit>
std::uint32_t RunKvCache::walk_stretch(const Stretch& stretch, std::uint32_t index, std::uint32_t limit,
                                       Visit&& visit) const {
  if (index >= limit) return index;
  const std::uint32_t segment = blocks_.find_segment(stretch.key);
  if (segment == SharedBlocks::kNoSegment) return index;
  while (index < limit) {
    const SharedBlocks::Range range = blocks_.cached_from(segment, index - stretch.start, limit - stretch.start);
    if (range.size() == 0) break;
    visit(range);
    index += range.size();
  }
  return index;
}

/// Visits the ranges of the cached named blocks from the start, at most `limit`; returns how many. `own`: also what
/// nobody but the request can look up.
template <class Visit>
std::uint32_t RunKvCache::walk_named(const KvRequest& request, std::uint32_t limit, bool own, Visit&& visit) const {
  std::uint32_t index = 0;
  std::uint32_t start = 0;
  for (const ContentSegment& content : request.content) {
    const std::uint32_t end =
        content.end_token == ContentSegment::kOpenEnd ? limit : std::min(limit, content.end_token / block_size_);
    index = walk_stretch({content.key, start / block_size_, end}, index, end, visit);
    if (index < end || index >= limit) return index;
    start = content.end_token;
  }
  return own ? walk_stretch(own_stretch(request), index, limit, visit) : index;
}

RunKvCache::Hit RunKvCache::look_up(const KvRequest& request) const {
  Hit hit;
  if (!config_.enable_prefix_caching || request.known == 0) return hit;
  const std::uint32_t limit = (request.known - 1) / block_size_;
  const Holding& holding = requests_[request.slot];
  hit.shared = walk_named(request, limit, holding.named > 0,
                          [&](const SharedBlocks::Range& range) { hit.in_queue += blocks_.free_in(range); });
  if (holding.run != 0 && holding.run_start == hit.shared) {
    hit.own = std::min(blocks_.run_count(holding.run), limit - hit.shared);
    hit.in_queue += hit.own;
  }
  return hit;
}

std::uint32_t RunKvCache::find(const KvRequest& request) {
  const bool same = pending_slot_ == request.slot && pending_version_ == blocks_.version() &&
                    pending_known_ == request.known && pending_hit_.own == 0 && requests_[request.slot].run == 0;
  if (!same) {
    pending_hit_ = look_up(request);
    pending_slot_ = request.slot;
    pending_known_ = request.known;
    pending_version_ = blocks_.version();
  }
  return pending_hit_.blocks() * block_size_;
}

std::uint32_t RunKvCache::peek(const KvRequest& request) const {
  if (!config_.enable_prefix_caching || request.known == 0) return 0;
  return walk_named(request, (request.known - 1) / block_size_, false, [](const SharedBlocks::Range&) {}) * block_size_;
}

// --- allocation

std::uint32_t RunKvCache::missing_blocks(const KvRequest& request) const {
  const std::uint32_t blocks = ceil_div(std::min(request.known, config_.max_model_len), block_size_);
  const std::uint32_t have = requests_[request.slot].length;
  return blocks > have ? blocks - have : 0;
}

void RunKvCache::take_hit(const KvRequest& request, Hit hit) {
  Holding& holding = requests_[request.slot];
  const bool whole = holding.run != 0 && hit.own == blocks_.run_count(holding.run);
  if (holding.run != 0 && holding.run_start == hit.shared &&
      !whole) {  // the rest stays in the queue beside a second copy
    name_run(request, holding);
    hit.shared += std::exchange(hit.own, 0);
  }
  walk_named(request, hit.shared, holding.named > 0, [&](const SharedBlocks::Range& range) {
    blocks_.reference(range);
    holding.shared.push_back(range);
    holding.shared_blocks += range.size();
  });
  if (hit.own > 0) blocks_.shrink_run(std::exchange(holding.run, 0), hit.own);
  free_ -= hit.in_queue;
  holding.length = holding.cached = hit.blocks();
}

bool RunKvCache::allocate(const KvRequest& request, const KvGrant& grant) {
  Holding& holding = requests_[request.slot];
  const bool has_hit = grant.admission && request.computed == 0 && !holding.holds_table &&
                       pending_slot_ == request.slot && pending_hit_.blocks() * block_size_ == grant.hit;
  const Hit hit = has_hit ? pending_hit_ : Hit{};
  const std::uint32_t total = std::min(request.computed + grant.hit + grant.external, config_.max_model_len);
  const auto needed = [&](std::uint32_t tokens) {
    const std::uint32_t required = ceil_div(tokens, block_size_);
    const std::uint32_t have = holding.length + hit.blocks();
    return (required > have ? required - have : 0) + hit.in_queue;
  };
  if (grant.reserve_full && needed(std::min(request.known, config_.max_model_len)) + grant.watermark > free_)
    return false;
  const std::uint32_t slots = std::min(total + grant.new_tokens, config_.max_model_len);
  if (needed(slots) + grant.watermark + grant.reserved > free_) return false;
  if (!holding.holds_table) {
    holding.holds_table = true;
    ++tables_held_;
  }
  if (has_hit) {
    pending_slot_ = 0xFFFFFFFFU;
    take_hit(request, hit);
    if (holding.run != 0) {  // what is left of the own run can never be hit again: the chain before it has gone
      blocks_.disown(holding.run);
      holding.run = 0;
    }
  }
  const std::uint32_t blocks = ceil_div(slots, block_size_);
  if (blocks > holding.length) {
    take(blocks - holding.length);
    holding.length = blocks;
  }
  if (!grant.delay_caching) store(request, std::min(total + grant.new_tokens, request.known));
  return true;
}

void RunKvCache::take(std::uint32_t count) {
  free_ -= count;
  const std::uint32_t plain = std::min(count, unkeyed_);
  unkeyed_ -= plain;
  count -= plain;
  evicted += count;
  while (count > 0) {
    const SharedBlocks::Evicted gone = blocks_.evict(count);
    if (gone.owner != SharedBlocks::kNoOwner && gone.run_gone) requests_[gone.owner].run = 0;
    count -= gone.count;
  }
}

void RunKvCache::sync_decode(std::uint32_t slot, std::uint32_t table_length, std::uint32_t cached_blocks) {
  Holding& holding = requests_[slot];
  holding.length = table_length;
  if (config_.enable_prefix_caching) holding.cached = std::max(holding.cached, cached_blocks);
}

// --- keys

/// Leading blocks of the request that others may look up while it lives.
std::uint32_t RunKvCache::shareable_blocks(const KvRequest& request) const {
  std::uint32_t end = 0;
  for (const ContentSegment& content : request.content) {
    if (content.exclusive) break;
    end = std::min(content.end_token, request.prompt);
  }
  return end / block_size_;
}

void RunKvCache::store(const KvRequest& request, std::uint32_t tokens) {
  if (!config_.enable_prefix_caching) return;
  Holding& holding = requests_[request.slot];
  const std::uint32_t end = tokens / block_size_;
  if (end <= holding.cached) return;
  if (holding.cached == holding.shared_blocks && (!request.content.empty() || holding.named > 0))
    name_blocks(request, holding, std::min(std::max(shareable_blocks(request), holding.named), end));
  holding.cached = end;
}

/// Gives identity to the keyed blocks from the first private one up to `to`. Needed for what others may look up, and
/// for what the request may look up itself while another copy of it exists or while its blocks are still held.
void RunKvCache::name_blocks(const KvRequest& request, Holding& holding, std::uint32_t to) {
  std::uint32_t index = holding.shared_blocks;
  const auto name = [&](const Stretch& stretch) {
    const std::uint32_t stop = std::min(to, stretch.end);
    if (index >= stop) return;
    const std::uint32_t segment = blocks_.segment(stretch.key);
    blocks_.add(segment, index - stretch.start, stop - stretch.start, holding.shared);
    holding.shared_blocks += stop - index;
    index = stop;
  };
  std::uint32_t start = 0;
  for (const ContentSegment& content : request.content) {
    if (index >= to) return;
    name({content.key, start / block_size_, content.end_token / block_size_});
    start = content.end_token;
  }
  if (index < to) name(own_stretch(request));
}

/// The request's own run in the queue becomes blocks with identity.
void RunKvCache::name_run(const KvRequest& request, Holding& holding) {
  const std::uint32_t run = std::exchange(holding.run, 0);
  const std::uint32_t end = holding.run_start + blocks_.run_count(run);
  for_each_stretch_backwards(
      request, holding.run_start, end, [&](const Stretch& stretch, std::uint32_t from, std::uint32_t to) {
        blocks_.name_run_end(run, blocks_.segment(stretch.key), from - stretch.start, to - stretch.start);
      });
  holding.named = std::max(holding.named, end);
}

/// Visits the stretches that have blocks between `from` and `to`, the last first, each with its part of them.
template <class Visit>
void RunKvCache::for_each_stretch_backwards(const KvRequest& request, std::uint32_t from, std::uint32_t to,
                                            Visit&& visit) const {
  if (from >= to) return;
  const auto clipped = [&](const Stretch& stretch) {
    const std::uint32_t first = std::max(from, stretch.start), end = std::min(to, stretch.end);
    if (first < end) visit(stretch, first, end);
  };
  clipped(own_stretch(request));
  for (std::size_t i = request.content.size(); i-- > 0;)
    clipped({request.content[i].key, (i == 0 ? 0 : request.content[i - 1].end_token) / block_size_,
             request.content[i].end_token / block_size_});
}

void RunKvCache::publish(const KvRequest& request) {
  Holding& holding = requests_[request.slot];
  name_blocks(request, holding, std::min(covered_blocks(request), holding.cached));
  publish_run(request, holding);
}

/// A request that is over leaves its run to others, as far as they can look it up.
void RunKvCache::publish_run(const KvRequest& request, Holding& holding) {
  if (holding.run == 0) return;
  if (covered_blocks(request) > holding.run_start) {
    name_run(request, holding);
  } else {
    blocks_.disown(std::exchange(holding.run, 0));
  }
}

// --- giving back

/// Blocks of the known tokens whose content a later request may look up.
std::uint32_t RunKvCache::covered_blocks(const KvRequest& request) const {
  if (request.content.empty()) return 0;
  return std::min(request.content.back().end_token, request.known) / block_size_;
}

/// The request is over: what was its own only until then gets identity, from the last block to the first, into the
/// queue.
void RunKvCache::share_private_blocks(const KvRequest& request, Holding& holding) {
  const std::uint32_t covered = std::min(covered_blocks(request), holding.cached);
  const std::uint32_t first_private = holding.shared_blocks;
  if (holding.cached > std::max(covered, first_private))
    blocks_.push_run(SharedBlocks::kNoOwner, holding.cached - std::max(covered, first_private));
  for_each_stretch_backwards(request, first_private, covered,
                             [&](const Stretch& stretch, std::uint32_t from, std::uint32_t to) {
                               blocks_.add_free(blocks_.segment(stretch.key), from - stretch.start, to - stretch.start);
                             });
}

void RunKvCache::give_back_named(const Holding& holding) {
  const std::uint32_t plain = holding.length - holding.cached;
  unkeyed_ += plain;
  free_ += plain;
  for (std::size_t i = holding.shared.size(); i-- > 0;) free_ += blocks_.dereference(holding.shared[i]);
}

void RunKvCache::release(const KvRequest& request, Release why) {
  Holding& holding = requests_[request.slot];
  const std::uint32_t shared = holding.shared_blocks;
  if (holding.cached > shared) {
    free_ += holding.cached - shared;
    if (why == Release::kFinished) {
      share_private_blocks(request, holding);
    } else {
      if (holding.run != 0) blocks_.disown(holding.run);
      holding.run = blocks_.push_run(request.slot, holding.cached - shared);
      holding.run_start = shared;
    }
  }
  give_back_named(holding);
  empty(holding);
  if (why == Release::kFinished) publish_run(request, holding);  // it finished while it waited
}

/// After this the request holds nothing.
void RunKvCache::empty(Holding& holding) {
  if (holding.holds_table) --tables_held_;
  holding.shared.clear();
  holding.length = holding.cached = holding.shared_blocks = 0;
  holding.holds_table = false;
}

std::uint64_t RunKvCache::detach(const KvRequest& request, Release) {
  std::uint32_t handle;
  if (free_detached_.empty()) {
    handle = static_cast<std::uint32_t>(detached_.size());
    detached_.emplace_back();
  } else {
    handle = free_detached_.back();
    free_detached_.pop_back();
  }
  Holding& holding = requests_[request.slot];
  name_blocks(request, holding, holding.cached);  // may be hit before they are free
  holding.named = std::max(holding.named, holding.cached);
  detached_[handle] = holding;
  empty(holding);
  return handle;
}

void RunKvCache::free_detached(std::uint64_t handle) {
  give_back_named(detached_[handle]);
  detached_[handle] = {};
  free_detached_.push_back(static_cast<std::uint32_t>(handle));
}

bool RunKvCache::reset() {
  if (free_ != config_.num_blocks - 1) return false;
  blocks_.clear();
  unkeyed_ = free_;
  for (Holding& holding : requests_) holding.run = 0;
  return true;
}

// --- looking

std::size_t RunKvCache::distinct_keys() const {
  std::size_t keys = blocks_.distinct_blocks() + blocks_.run_blocks();
  for (const Holding& holding : requests_) keys += holding.cached - holding.shared_blocks;
  return keys;
}

std::uint32_t RunKvCache::common_prefix(std::uint32_t slot, std::size_t) const {
  if (!config_.enable_prefix_caching) return 0;
  const Holding& holding = requests_[slot];
  std::uint32_t common = 0;
  for (const SharedBlocks::Range& range : holding.shared)
    for (std::uint32_t index = range.lo; index < range.hi; ++index, ++common)
      if (blocks_.references(range.copy, index) != tables_held_) return common;
  return tables_held_ == 1 ? holding.length : common;
}

void RunKvCache::check_balance() const {
  if (unkeyed_ + blocks_.queued() != free_)
    throw std::logic_error("free KV blocks do not balance: " + std::to_string(unkeyed_) + " without and " +
                           std::to_string(blocks_.queued()) + " with a key, but " + std::to_string(free_) + " free");
}

}  // namespace dooly::replica
