#pragma once

#include "replica_core/kv_cache.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace dooly::test {

/// Any cache, but every request must be allocated by itself: the engine then walks its running list in every call.
class StepByStepCache final : public replica::KvCache {
 public:
  explicit StepByStepCache(std::unique_ptr<replica::KvCache> inner) : inner_(std::move(inner)) {}

  bool grows_in_bulk() const override { return false; }
  void open(std::uint32_t slot) override { inner_->open(slot); }
  std::uint32_t find(const replica::KvRequest& request) override { return inner_->find(request); }
  std::uint32_t peek(const replica::KvRequest& request) const override { return inner_->peek(request); }
  bool allocate(const replica::KvRequest& request, const replica::KvGrant& grant) override {
    const bool fits = inner_->allocate(request, grant);
    evicted += std::exchange(inner_->evicted, 0);
    return fits;
  }
  void store(const replica::KvRequest& request, std::uint32_t tokens) override { inner_->store(request, tokens); }
  void publish(const replica::KvRequest& request) override { inner_->publish(request); }
  void release(const replica::KvRequest& request, Release why) override { inner_->release(request, why); }
  std::uint64_t detach(const replica::KvRequest& request, Release why) override { return inner_->detach(request, why); }
  void free_detached(std::uint64_t handle) override { inner_->free_detached(handle); }
  void take(std::uint32_t) override { throw std::logic_error("bulk growth of a cache that has none"); }
  void sync_decode(std::uint32_t, std::uint32_t, std::uint32_t) override {
    throw std::logic_error("bulk counts for a cache that has none");
  }
  std::uint32_t free_blocks() const override { return inner_->free_blocks(); }
  std::uint32_t holders() const override { return inner_->holders(); }
  replica::SharedKv shared() const override { return inner_->shared(); }
  std::uint32_t missing_blocks(const replica::KvRequest& request) const override {
    return inner_->missing_blocks(request);
  }
  bool holds_table(std::uint32_t slot) const override { return inner_->holds_table(slot); }
  std::uint32_t table_length(std::uint32_t slot, std::size_t group) const override {
    return inner_->table_length(slot, group);
  }
  std::uint32_t null_entries(std::uint32_t slot, std::size_t group) const override {
    return inner_->null_entries(slot, group);
  }
  bool reset() override { return inner_->reset(); }
  std::size_t distinct_keys() const override { return inner_->distinct_keys(); }
  std::uint32_t common_prefix(std::uint32_t slot, std::size_t group) const override {
    return inner_->common_prefix(slot, group);
  }
  std::span<const std::uint32_t> block_ids(std::uint32_t slot, std::size_t group) const override {
    return inner_->block_ids(slot, group);
  }
  std::vector<std::uint32_t> free_queue() const override { return inner_->free_queue(); }
  void check_balance() const override { inner_->check_balance(); }

 private:
  std::unique_ptr<replica::KvCache> inner_;
};

}  // namespace dooly::test
