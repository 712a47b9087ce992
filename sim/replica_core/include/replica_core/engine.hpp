#pragma once

#include "replica_core/batch.hpp"
#include "replica_core/call_record.hpp"
#include "replica_core/decode_set.hpp"
#include "replica_core/engine_config.hpp"
#include "replica_core/kv_cache.hpp"
#include "replica_core/replica_request.hpp"
#include "replica_core/running_list.hpp"
#include "replica_core/waiting_queue.hpp"

#include "dooly/sdk/policy.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dooly::replica {

/// A policy broke a rule of the plan. The message names the rule, the policy's request and the scheduling call.
class PolicyBreach : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The decisions of one engine instance: queues, running list, KV cache and the plan that a policy acts through. Knows
/// no time but what it is told. Rules: vLLM V1 scheduler and engine core.
///
/// Cost: a call costs O(changes). Requests that decode steadily are kept in a DecodeSet; whatever is irregular about a
/// request (a prompt in progress, blocks short, a policy that schedules by hand) makes it an *explicit* one that is
/// handled by itself. Both ways decide the same.
class Engine final : private sdk::Plan {
 public:
  enum class Pause : std::uint8_t { kNone, kNew, kAll };

  Engine(const EngineConfig& config, sdk::SchedulerPolicy& policy, std::unique_ptr<KvCache> cache);

  // --- inputs
  void add(const ReplicaRequest& request);
  void abort(RequestTag request);
  void load_finished(RequestTag request);
  void release_held(RequestTag request);
  void pause(Pause pause) { pause_ = pause; }
  bool reset_cache(bool preempt_running);

  // --- one step
  bool has_requests() const;
  /// One scheduling call; the batch stays with the engine until its result has been read. Throws PolicyBreach.
  Batch& schedule(double now_s);
  /// The last call preempted somebody or asked in vain for a remote hit: another call may give tokens although nothing
  /// has come in since.
  bool is_unsettled() const { return unsettled_; }
  std::size_t batches_in_flight() const { return batches_.size(); }
  Batch& oldest_batch() { return *batches_.front(); }
  Batch& newest_batch() { return *batches_.back(); }
  /// Processes the oldest batch's result, which the clients get at client_s. Events are valid until the next call.
  std::span<const ResultEvent> read_result(double client_s);

  // --- steps that change no batch
  /// How many further steps are sure to schedule exactly the steady decodes again and to end none of them.
  std::uint32_t light_steps(std::uint32_t at_most) const;
  /// Shape of the light step `ahead` steps from now.
  oracle::BatchShape light_shape(std::uint32_t ahead) const;
  std::uint32_t light_blocks(std::uint32_t ahead) const { return decodes_.blocks_needed(ahead); }
  /// Makes them; the last client time is that of the last result read.
  void commit_light(std::uint32_t steps, double last_client_s);

  // --- state
  const EngineConfig& config() const { return config_; }
  const KvCache& cache() const { return *cache_; }
  std::uint64_t calls() const { return call_; }
  std::uint32_t running_total() const { return running_.size(); }
  std::uint32_t waiting_total() const { return waiting_.size() + skipped_.size(); }
  std::uint64_t preemptions() const { return preemptions_; }
  bool is_empty() const { return running_.size() + waiting_total() == 0 && batches_.empty() && lingering_.empty(); }
  std::uint32_t cached_prefix(const ReplicaRequest& request) const;
  std::vector<RequestTag> running_tags() const;
  std::vector<RequestTag> waiting_tags(std::size_t at_most) const;
  std::vector<RequestTag> skipped_tags() const;
  /// One line a request that has not finished: its tag and what it waits for.
  std::vector<std::pair<RequestTag, std::string>> stuck() const;

  void record(bool on) { recording_ = on; }
  const CallRecord& last_call() const { return record_; }

  struct Started {  ///< first scheduling of a request, or start of a load, in the last call
    RequestTag tag;
    std::uint32_t cached;
    std::uint32_t prompt;
  };
  struct LoadStart {
    RequestTag tag;
    std::uint32_t local, remote;
  };
  /// Brings the cache's counts of steady decodes up to date, for those who inspect it; O(running).
  void sync_cache_counts();

  std::span<const Started> started() const { return started_; }
  std::span<const LoadStart> loads_started() const { return loads_started_; }

 private:
  enum class State : std::uint8_t { kFree, kWaiting, kLoading, kExplicit, kSteady, kEnding, kHeld, kGone };
  struct Slot {
    RequestTag tag = 0;
    std::uint32_t generation = 0;
    State state = State::kFree;
    bool loaded = false;  ///< its remote KV has been asked for
    bool load_arrived = false;
    bool ever_scheduled = false;
    bool in_skipped = false;  ///< which queue it waits in
    bool put_back = false;  ///< passed over in this call
    std::uint16_t request_class = 0;
    std::int32_t priority = 0;
    std::uint32_t prompt = 0, output = 0;
    std::uint32_t generated = 0;  ///< explicit requests
    std::uint32_t computed = 0;  ///< explicit and ending requests
    std::uint32_t in_flight = 0;  ///< tokens in batches not read; explicit requests
    std::uint32_t placeholders = 0;  ///< sampled tokens not read (asynchronous scheduling); explicit requests
    std::uint32_t discard = 0;  ///< results to be dropped after a reset
    std::uint32_t preemptions = 0;
    std::uint32_t unknown_lookups = 0;
    std::uint32_t hit = 0, remote = 0;  ///< found in call `found_call`
    std::uint64_t found_call = kNoCall;
    std::uint32_t allocated = 0;  ///< tokens allocated but not scheduled yet in this call
    std::uint64_t scheduled_call = kNoCall;  ///< entry in the current batch if equal to the call
    std::uint32_t entry = 0;
    std::uint64_t order = 0;
    std::uint64_t known_from = 0;  ///< steady: first batch that counts as pending
    std::uint64_t steady_from = 0;  ///< steady: first batch that contains it as a count
    std::uint64_t ending_call = kNoCall;
    std::uint64_t free_after = 0;  ///< deferred frees: batches that must have been read
    double arrival_s = 0, deadline_s = 0, last_token_s = 0;
    std::uint64_t sequence = 0;
    std::uint64_t unique_key = 0;
    std::span<const ContentSegment> content;
    RemoteKv remote_kv;
  };
  static constexpr std::uint64_t kNoCall = ~0ULL;
  static constexpr std::uint32_t kNobody = 0xFFFFFFFFU;

  // --- sdk::Plan
  double now_s() const override { return now_s_; }
  const sdk::Limits& limits() const override { return limits_; }
  std::uint32_t budget() const override { return budget_ - served_in_bulk(); }
  std::uint32_t free_blocks() const override { return cache_->free_blocks(); }
  std::uint32_t total_blocks() const override { return config_.num_blocks - 1; }
  std::size_t running_count() const override { return running_.size(); }
  std::size_t waiting_count() const override { return waiting_.size() + skipped_.size() + put_back_.size(); }
  sdk::RequestView view(sdk::RequestId request) const override;
  sdk::RequestId last_running() const override;
  std::uint32_t scheduled_now(sdk::RequestId request) const override;
  std::size_t read_running(std::size_t& cursor, std::span<sdk::RequestView> into) const override;
  std::size_t read_waiting(std::size_t& cursor, std::span<sdk::RequestView> into) const override;
  const sdk::RequestView* next_waiting() override;
  Stop schedule_running() override;
  sdk::RequestId stopped_at() const override;
  sdk::PrefixHit find_prefix(sdk::RequestId waiting) override;
  bool try_allocate(sdk::RequestId request, std::uint32_t tokens) override;
  void schedule(sdk::RequestId running, std::uint32_t tokens) override;
  void admit(sdk::RequestId waiting, std::uint32_t tokens) override;
  bool start_load(sdk::RequestId waiting) override;
  void preempt(sdk::RequestId running) override;
  void skip(sdk::RequestId waiting) override;
  void explain(std::string_view why) override;

  // --- requests
  Slot& named(sdk::RequestId id);
  static sdk::RequestId id_of(std::uint32_t index) { return sdk::RequestId{index}; }
  std::uint32_t new_slot();
  void free_slot(std::uint32_t index);
  std::uint32_t find_tag(RequestTag tag) const;
  std::uint32_t computed(std::uint32_t index) const;
  std::uint32_t known(std::uint32_t index) const;
  std::uint32_t pending_samples(const Slot& s) const;
  std::uint32_t last_computed(const Slot& s) const;
  std::uint32_t next_tokens(const Slot& s, std::uint32_t budget) const;
  KvRequest kv_request(std::uint32_t index) const;
  WaitingQueue::Rank rank(const Slot& s) const { return {s.priority, s.arrival_s, s.sequence}; }
  bool is_running(const Slot& s) const {
    return s.state == State::kExplicit || s.state == State::kSteady || s.state == State::kEnding;
  }
  bool is_waiting(const Slot& s) const { return s.state == State::kWaiting || s.state == State::kLoading; }
  sdk::RequestView make_view(std::uint32_t index) const;
  [[noreturn]] void breach(std::string_view rule, std::uint32_t index) const;
  void expect(bool holds, std::string_view rule, std::uint32_t index) const {
    if (!holds) breach(rule, index);
  }

  // --- scheduling (engine_schedule.cpp)
  void run_policy();
  void begin_call(double now_s);
  bool can_grow_in_bulk() const;
  Stop grow_in_bulk();
  void finish_bulk();
  bool is_short_in_bulk() const { return bulk_begun_ && !walking_ && blocks_wanted_ > 0; }
  std::uint32_t served_in_bulk() const;
  Stop visit_explicit();
  Stop walk();
  void start_walk();
  void stop_bulk_and_walk();
  void make_explicit(std::uint32_t index, bool grown);
  void sync_cache(std::uint32_t index, bool grown);
  bool schedule_explicit(std::uint32_t index, std::uint32_t tokens);
  void add_entry(std::uint32_t index, std::uint32_t tokens);
  void take_entry_back(std::uint32_t index);
  void leave_running(std::uint32_t index);
  void requeue(std::uint32_t index);
  void release_blocks(std::uint32_t index, KvCache::Release why);
  void put_back(std::uint32_t index);
  void confirm_hit(std::uint32_t index);
  void restore_put_back();
  bool promote_loaded(std::uint32_t index);
  void commit_batch();
  void commit_entry(BatchEntry& entry);
  void commit_steady();
  void tell_shared(oracle::BatchShape& shape) const;
  void enter_steady(std::uint32_t index);
  void record_running();
  std::vector<std::vector<std::uint32_t>> new_ids(std::uint32_t index, std::span<const std::uint32_t> before) const;
  void remember_table(std::uint32_t index);

  // --- results (engine_result.cpp)
  void result_of(const BatchEntry& entry, double client_s);
  bool append_token(Slot& s);
  void finish(std::uint32_t index, bool hold);
  void emit(std::uint32_t index, bool first, bool finished, bool steady, double client_s);
  void finish_steady(std::uint32_t index, double client_s);
  void preempt_core(std::uint32_t index, bool grown);

  EngineConfig config_;
  sdk::Limits limits_;
  sdk::SchedulerPolicy& policy_;
  std::unique_ptr<KvCache> cache_;
  bool bulk_;  ///< steady decodes are kept as a set
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  RunningList running_;
  DecodeSet decodes_;
  std::vector<std::uint32_t> explicit_;  ///< running and not steady, in list order (only if bulk_)
  WaitingQueue waiting_, skipped_;
  std::vector<std::uint32_t> lingering_;  ///< loading, or finished and holding blocks
  std::vector<std::uint32_t> unfinished_prefills_;  ///< with a connector: their need is reserved against loads
  std::deque<std::unique_ptr<Batch>> batches_;
  std::vector<std::unique_ptr<Batch>> spare_batches_;
  std::vector<std::uint32_t> steady_by_class_;
  Pause pause_ = Pause::kNone;
  bool finished_ids_ = false;  ///< something finished that the next call has to flush
  std::uint64_t call_ = 0;
  std::uint64_t next_order_ = 0;
  std::uint64_t last_steady_order_ = 0;
  std::uint64_t preemptions_ = 0;
  double last_client_s_ = 0;

  // the call in progress
  double now_s_ = 0;
  std::uint32_t budget_ = 0;
  Batch* batch_ = nullptr;
  bool in_call_ = false;
  bool unsettled_ = false;
  bool bulk_begun_ = false, bulk_done_ = false, walking_ = false;
  std::uint32_t blocks_wanted_ = 0;  ///< by steady decodes that have not got theirs
  std::uint32_t blocks_taken_ = 0;
  std::size_t explicit_cursor_ = 0;
  std::size_t cursor_ = 0;
  std::uint32_t pass_over_ = 0;  ///< requests that the walk skips because the list shifted under it
  std::uint32_t stopped_ = kNobody;
  std::vector<std::uint32_t> put_back_;
  std::uint32_t found_ = kNobody;  ///< the waiting request whose prefix hit the cache has just told
  std::uint32_t open_allocations_ = 0;  ///< made by hand and not scheduled yet
  sdk::RequestView head_view_;
  std::vector<Started> started_;
  std::vector<LoadStart> loads_started_;
  std::vector<std::uint32_t> ended_;
  std::vector<BatchEntry> merged_;
  std::vector<ResultEvent> events_;

  struct DeferredFree {
    std::uint64_t after;
    std::uint64_t handle;
  };
  std::deque<DeferredFree> deferred_;
  std::uint64_t numbered_batches_ = 0, read_batches_ = 0;  ///< non-empty ones, counted for deferred frees

  bool recording_ = false;
  CallRecord record_;
  std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>> tables_before_;
};

}  // namespace dooly::replica
