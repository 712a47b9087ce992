#include "block_kv_cache.hpp"

#include "replica_core/block_keys.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace dooly::replica {
namespace {

std::uint32_t ceil_div(std::uint32_t a, std::uint32_t b) { return (a + b - 1) / b; }

std::uint64_t group_key(std::uint64_t key, std::size_t group) { return group == 0 ? key : chain_key(key, 0, group, 0); }

}  // namespace

bool BlockKvCache::Holding::touched_cache() const {
  return std::any_of(cached.begin(), cached.end(), [](std::int64_t blocks) { return blocks >= 0; });
}

BlockKvCache::BlockKvCache(const EngineConfig& config)
    : config_(config),
      pool_(config.num_blocks, config.enable_prefix_caching),
      hybrid_(config.enable_prefix_caching && config.groups.size() > 1),
      hash_block_size_(config.groups.front().block_size) {
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    const KvGroup& group = config_.groups[i];
    hash_block_size_ = std::min(hash_block_size_, group.block_size);
    const auto same = std::find_if(specs_.begin(), specs_.end(), [&](const Spec& spec) {
      return spec.group.kind == group.kind && spec.group.block_size == group.block_size &&
             spec.group.window == group.window;
    });
    if (same == specs_.end()) {
      specs_.push_back({group, {i}});
    } else {
      same->members.push_back(i);
    }
  }
  std::stable_sort(specs_.begin(), specs_.end(), [](const Spec& a, const Spec& b) {
    return (a.group.kind == KvGroup::Kind::kFull) > (b.group.kind == KvGroup::Kind::kFull);
  });
}

void BlockKvCache::open(std::uint32_t slot) {
  if (requests_.size() <= slot) requests_.resize(slot + 1);
  Holding& holding = requests_[slot];
  holding.tables.assign(config_.groups.size(), {});
  holding.cached.assign(config_.groups.size(), -1);
  holding.holds_table = false;
}

std::uint32_t BlockKvCache::behind_window(const KvGroup& group, std::uint32_t tokens) {
  switch (group.kind) {
    case KvGroup::Kind::kSlidingWindow: return tokens + 1 > group.window ? tokens + 1 - group.window : 0;
    case KvGroup::Kind::kChunkedLocal: return tokens / group.window * group.window;
    case KvGroup::Kind::kFull: break;
  }
  return 0;
}

// --- prefix hits

bool BlockKvCache::blocks_at(const Spec& spec, std::uint64_t key, std::vector<std::uint32_t>& into) const {
  into.clear();
  for (const std::size_t member : spec.members) {
    const std::uint32_t block = pool_.find(group_key(key, member));
    if (block == 0) return false;
    into.push_back(block);
  }
  return true;
}

void BlockKvCache::find_full(const Spec& spec, const KvRequest& request, std::uint32_t limit, std::uint32_t align,
                             Hit& hit) const {
  const std::uint32_t size = spec.group.block_size;
  BlockKeys keys(request);
  std::vector<std::uint32_t> got;
  for (std::uint32_t i = 0; i < limit / size && blocks_at(spec, keys.at((i + 1) * size), got); ++i)
    for (std::size_t m = 0; m < spec.members.size(); ++m) hit.blocks[spec.members[m]].push_back(got[m]);
  hit.tokens = static_cast<std::uint32_t>(hit.blocks[spec.members[0]].size()) * size;
  hit.tokens -= hit.tokens % align;
  for (const std::size_t member : spec.members) hit.blocks[member].resize(ceil_div(hit.tokens, size));
}

// From the right, the first run of blocks that covers a window; what lies left of it is placeholders.
void BlockKvCache::find_window(const Spec& spec, const KvRequest& request, std::uint32_t limit, std::uint32_t align,
                               Hit& hit) const {
  const std::uint32_t size = spec.group.block_size;
  const std::uint32_t wanted = ceil_div(spec.group.window - 1, size);
  const std::uint32_t count = limit / size;
  for (const std::size_t member : spec.members) hit.blocks[member].assign(count, 0);
  BlockKeys keys(request);
  std::vector<std::uint32_t> got;
  std::uint32_t run = 0;
  std::uint32_t length = 0;
  bool found = false;
  for (std::uint32_t i = count; i-- > 0 && !found;) {
    if (!blocks_at(spec, keys.at((i + 1) * size), got)) {
      run = 0;
      continue;
    }
    if (run == 0 && size != align && (i + 1) * size % align != 0) continue;
    for (std::size_t m = 0; m < spec.members.size(); ++m) hit.blocks[spec.members[m]][i] = got[m];
    if (++run >= wanted) {
      length = i + run;
      found = true;
    }
  }
  if (!found) {
    length = run;
    while (size != align && length * size % align != 0) --length;
  }
  for (const std::size_t member : spec.members) hit.blocks[member].resize(length);
  hit.tokens = length * size;
}

// Everything before the chunk that holds the limit counts as hit, then cached blocks from there until a miss.
void BlockKvCache::find_local(const Spec& spec, const KvRequest& request, std::uint32_t limit, Hit& hit) const {
  const std::uint32_t size = spec.group.block_size;
  const std::uint32_t first = limit / spec.group.window * spec.group.window / size;
  for (const std::size_t member : spec.members) hit.blocks[member].assign(first, 0);
  BlockKeys keys(request);
  std::vector<std::uint32_t> got;
  for (std::uint32_t i = first; i < limit / size && blocks_at(spec, keys.at((i + 1) * size), got); ++i)
    for (std::size_t m = 0; m < spec.members.size(); ++m) hit.blocks[spec.members[m]].push_back(got[m]);
  hit.tokens = static_cast<std::uint32_t>(hit.blocks[spec.members[0]].size()) * size;
}

BlockKvCache::Hit BlockKvCache::look_up_spec(const Spec& spec, const KvRequest& request, std::uint32_t limit,
                                             std::uint32_t align) const {
  Hit hit;
  hit.blocks.resize(config_.groups.size());
  switch (spec.group.kind) {
    case KvGroup::Kind::kFull: find_full(spec, request, limit, align, hit); break;
    case KvGroup::Kind::kSlidingWindow: find_window(spec, request, limit, align, hit); break;
    case KvGroup::Kind::kChunkedLocal: find_local(spec, request, limit, hit); break;
  }
  return hit;
}

BlockKvCache::Hit BlockKvCache::look_up(const KvRequest& request) const {
  Hit all;
  all.blocks.resize(config_.groups.size());
  if (!config_.enable_prefix_caching || request.known == 0) return all;
  const std::uint32_t limit = request.known - 1;
  if (!hybrid_) return look_up_spec(specs_[0], request, limit, specs_[0].group.block_size);
  const bool simple = specs_.size() == 2 && specs_[0].group.kind == KvGroup::Kind::kFull;
  bool full_known = false;
  std::uint32_t full_length = 0;
  std::uint32_t length = limit;
  while (true) {
    std::uint32_t current = length;
    for (const Spec& spec : specs_) {
      const bool full = spec.group.kind == KvGroup::Kind::kFull;
      if (full && full_known) {
        current = std::min(current, full_length);
        continue;
      }
      Hit hit = look_up_spec(spec, request, current, config_.scheduler_block_size);
      current = hit.tokens;
      if (full) {
        full_known = true;
        full_length = current;
      }
      for (const std::size_t member : spec.members) all.blocks[member] = std::move(hit.blocks[member]);
    }
    if (current >= length) break;
    length = current;
    if (simple) break;
  }
  if (specs_[0].group.kind == KvGroup::Kind::kFull)
    for (const std::size_t member : specs_[0].members)
      all.blocks[member].resize(ceil_div(length, specs_[0].group.block_size));
  all.tokens = length;
  return all;
}

std::uint32_t BlockKvCache::find(const KvRequest& request) {
  pending_hit_.emplace(request.slot, look_up(request));
  return pending_hit_->second.tokens;
}

std::uint32_t BlockKvCache::peek(const KvRequest& request) const { return look_up(request).tokens; }

// --- allocation

std::uint32_t BlockKvCache::needed(const KvRequest& request, std::uint32_t tokens, const Hit* hit, std::uint32_t total,
                                   bool capped) const {
  const Holding& holding = requests_[request.slot];
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    const KvGroup& group = config_.groups[i];
    std::uint32_t required = ceil_div(tokens, group.block_size);
    if (capped && group.admission_cap > 0) required = std::min(required, group.admission_cap);
    const auto have = static_cast<std::uint32_t>(holding.tables[i].size());
    if (holding.cached[i] >= 0) {
      sum += required > have ? required - have : 0;
      continue;
    }
    const std::uint32_t skipped = behind_window(group, total) / group.block_size;
    const auto hits = hit != nullptr ? static_cast<std::uint32_t>(hit->blocks[i].size()) : 0U;
    const std::uint32_t covered = std::max(skipped, hits + have);
    sum += required > covered ? required - covered : 0;
    if (hit == nullptr) continue;
    for (std::size_t k = skipped > have ? skipped - have : 0; k < hits; ++k) {
      const std::uint32_t block = hit->blocks[i][k];
      if (block != 0 && pool_.references(block) == 0) ++sum;
    }
  }
  return sum;
}

std::uint32_t BlockKvCache::missing_blocks(const KvRequest& request) const {
  return needed(request, std::min(request.known, config_.max_model_len), nullptr, request.computed, true);
}

void BlockKvCache::drop_behind_window(std::uint32_t slot, std::uint32_t processed) {
  Holding& holding = requests_[slot];
  if (!holding.holds_table) return;
  std::vector<std::uint32_t> gone;
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    const std::uint32_t skipped = behind_window(config_.groups[i], processed);
    if (skipped == 0) continue;
    Table& table = holding.tables[i];
    gone.clear();
    for (std::size_t k = std::min<std::size_t>(skipped / config_.groups[i].block_size, table.size()); k-- > 0;) {
      if (table[k] == 0) break;
      gone.push_back(table[k]);
      table[k] = 0;
    }
    pool_.release(gone);
  }
}

void BlockKvCache::take_hit(Holding& holding, const Hit& hit, std::uint32_t total, std::uint32_t external) {
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    const std::uint32_t skipped = behind_window(config_.groups[i], total) / config_.groups[i].block_size;
    Table& table = holding.tables[i];
    table.assign(skipped, 0);
    for (std::size_t k = skipped; k < hit.blocks[i].size(); ++k) {
      if (hit.blocks[i][k] != 0) pool_.reference(hit.blocks[i][k]);
      table.push_back(hit.blocks[i][k]);
    }
    holding.cached[i] = static_cast<std::int64_t>(table.size());
  }
  if (external == 0) return;
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    if (total <= behind_window(config_.groups[i], total)) continue;
    Table& table = holding.tables[i];
    const std::uint32_t blocks = ceil_div(total, config_.groups[i].block_size);
    if (blocks > table.size())
      evicted += pool_.take(blocks - static_cast<std::uint32_t>(table.size()), table, is_full(i));
  }
}

bool BlockKvCache::allocate(const KvRequest& request, const KvGrant& grant) {
  static const Hit kNoHit;
  const bool has_hit = pending_hit_ && pending_hit_->first == request.slot &&
                       pending_hit_->second.tokens == grant.hit && grant.admission && request.computed == 0;
  const Hit* hit = has_hit ? &pending_hit_->second : nullptr;
  Holding& holding = requests_[request.slot];
  const std::uint32_t local = request.computed + grant.hit + grant.external;
  const std::uint32_t total = std::min(local, config_.max_model_len);
  const std::uint32_t free = pool_.free_count();
  if (grant.reserve_full &&
      needed(request, std::min(request.known, config_.max_model_len), hit, total, true) + grant.watermark > free)
    return false;
  const std::uint32_t slots = std::min(total + grant.new_tokens, config_.max_model_len);
  drop_behind_window(request.slot, total > request.in_flight ? total - request.in_flight : 0);
  if (needed(request, slots, hit, local, false) + grant.watermark + grant.reserved > pool_.free_count()) return false;
  const bool any_hit =
      hit != nullptr && std::any_of(hit->blocks.begin(), hit->blocks.end(), [](const Table& t) { return !t.empty(); });
  holding.holds_table ? void() : void(++tables_held_);
  holding.holds_table = true;
  if ((any_hit || grant.external > 0) && !holding.touched_cache()) {
    Hit none;
    if (hit == nullptr) none.blocks.resize(config_.groups.size());
    take_hit(holding, hit != nullptr ? *hit : none, local, grant.external);
  }
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    Table& table = holding.tables[i];
    const std::uint32_t blocks = ceil_div(slots, config_.groups[i].block_size);
    if (blocks > table.size())
      evicted += pool_.take(blocks - static_cast<std::uint32_t>(table.size()), table, is_full(i));
  }
  if (!grant.delay_caching) store(request, std::min(total + grant.new_tokens, request.known));
  return true;
}

// --- keys

void BlockKvCache::store(const KvRequest& request, std::uint32_t tokens) {
  if (!config_.enable_prefix_caching) return;
  if (hybrid_) tokens = tokens / config_.scheduler_block_size * config_.scheduler_block_size;
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    store_group(request, i, tokens);
    store_prompt_edge(request, i, tokens);
  }
}

void BlockKvCache::store_group(const KvRequest& request, std::size_t index, std::uint32_t tokens) {
  const KvGroup& group = config_.groups[index];
  Holding& holding = requests_[request.slot];
  const auto start = static_cast<std::uint32_t>(std::max<std::int64_t>(holding.cached[index], 0));
  const std::uint32_t end = tokens / group.block_size;
  if (start >= end) return;
  const std::uint32_t per = config_.scheduler_block_size / group.block_size;
  const std::uint32_t wanted =
      group.kind == KvGroup::Kind::kSlidingWindow ? ceil_div(group.window - 1, group.block_size) : per;
  BlockKeys keys(request);
  for (std::uint32_t i = start; i < end; ++i) {
    const std::uint32_t block = holding.tables[index][i];
    if (block == 0 || (wanted < per && i % per < per - wanted)) continue;
    pool_.forget(block);
    pool_.add_key(block, group_key(keys.at((i + 1) * group.block_size), index), (i + 1) * group.block_size);
  }
  holding.cached[index] = end;
}

// A full group whose block is larger than the hash block also gets a key for the prompt's last hash boundary.
void BlockKvCache::store_prompt_edge(const KvRequest& request, std::size_t index, std::uint32_t tokens) {
  const KvGroup& group = config_.groups[index];
  if (group.kind != KvGroup::Kind::kFull || group.block_size == hash_block_size_) return;
  const std::uint32_t edge = request.prompt / hash_block_size_ * hash_block_size_;
  const Table& table = requests_[request.slot].tables[index];
  if (edge == 0 || edge > tokens || edge % group.block_size == 0 || edge / group.block_size >= table.size()) return;
  const std::uint32_t block = table[edge / group.block_size];
  const std::uint64_t key = group_key(BlockKeys(request).at(edge), index);
  if (!pool_.carries(block, key) && pool_.has_key(block) && pool_.key_tokens(block) < edge) pool_.forget(block);
  pool_.add_key(block, key, edge);
}

// --- giving back

void BlockKvCache::release(const KvRequest& request, Release) {
  Holding& holding = requests_[request.slot];
  if (!holding.holds_table) return;
  --tables_held_;
  for (Table& table : holding.tables) {
    std::reverse(table.begin(), table.end());
    pool_.release(table);
  }
  open(request.slot);
}

std::uint64_t BlockKvCache::detach(const KvRequest& request, Release) {
  Holding& holding = requests_[request.slot];
  if (holding.holds_table) --tables_held_;
  detached_.emplace_back(std::move(holding.tables));
  open(request.slot);
  return first_detached_ + detached_.size() - 1;
}

void BlockKvCache::free_detached(std::uint64_t handle) {
  auto& tables = detached_[handle - first_detached_];
  std::vector<std::uint32_t> all;
  for (const Table& table : *tables) all.insert(all.end(), table.begin(), table.end());
  std::reverse(all.begin(), all.end());
  pool_.release(all);
  tables.reset();
  while (!detached_.empty() && !detached_.front()) {
    detached_.pop_front();
    ++first_detached_;
  }
}

void BlockKvCache::take(std::uint32_t) { throw std::logic_error("BlockKvCache grows each request by itself"); }
void BlockKvCache::sync_decode(std::uint32_t, std::uint32_t, std::uint32_t) {
  throw std::logic_error("BlockKvCache has no bulk decodes");
}

bool BlockKvCache::reset() {
  if (pool_.free_count() != pool_.size() - 1) return false;
  pool_.forget_all();
  return true;
}

// --- looking

std::uint32_t BlockKvCache::table_length(std::uint32_t slot, std::size_t group) const {
  return static_cast<std::uint32_t>(requests_[slot].tables[group].size());
}

std::uint32_t BlockKvCache::null_entries(std::uint32_t slot, std::size_t group) const {
  const Table& table = requests_[slot].tables[group];
  return static_cast<std::uint32_t>(std::count(table.begin(), table.end(), 0U));
}

std::span<const std::uint32_t> BlockKvCache::block_ids(std::uint32_t slot, std::size_t group) const {
  return requests_[slot].tables[group];
}

std::uint32_t BlockKvCache::common_prefix(std::uint32_t slot, std::size_t group) const {
  if (!config_.enable_prefix_caching || config_.groups[group].kind != KvGroup::Kind::kFull) return 0;
  std::uint32_t count = 0;
  for (const std::uint32_t block : requests_[slot].tables[group]) {
    if (pool_.references(block) != tables_held_) break;
    ++count;
  }
  return count;
}

void BlockKvCache::check_balance() const {
  std::vector<std::uint32_t> references(pool_.size(), 0);
  const auto count = [&](const std::vector<Table>& tables) {
    for (const Table& table : tables)
      for (const std::uint32_t block : table) ++references[block];
  };
  for (const Holding& holding : requests_) count(holding.tables);
  for (const auto& tables : detached_)
    if (tables) count(*tables);
  std::uint32_t held = 0;
  for (std::uint32_t block = 1; block < pool_.size(); ++block) {
    if (references[block] != pool_.references(block))
      throw std::logic_error("KV block " + std::to_string(block) + " is referenced " +
                             std::to_string(references[block]) + " times but counts " +
                             std::to_string(pool_.references(block)));
    held += references[block] > 0 ? 1 : 0;
  }
  if (held + pool_.free_count() + 1 != pool_.size()) throw std::logic_error("KV blocks do not balance");
}

}  // namespace dooly::replica
