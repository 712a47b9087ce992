#include "checked_policy.hpp"

#include <gtest/gtest.h>

#include <map>

namespace dooly::test {

using sdk::Plan;
using sdk::PrefixHit;
using sdk::RequestId;
using sdk::RequestView;

/// The plan as the policy sees it: forwards everything and keeps its own books for one call.
class CheckedPolicy::Watch final : public Plan {
 public:
  Watch(Plan& plan, CheckedPolicy& owner)
      : plan_(plan),
        owner_(owner),
        budget_at_start_(plan.budget()),
        running_at_start_(plan.running_count()) {
    plan.for_each_running([&](const RequestView& request) {
      running_.insert(request.id);
      if (!request.decoding) only_decodes_ = false;
    });
    plan.for_each_waiting([&](const RequestView& request) { waiting_.insert(request.id); });
  }

  bool only_decodes() const { return only_decodes_; }
  bool skipped() const { return skipped_; }
  bool acted() const { return acted_; }
  bool ran_out_of_blocks() const { return ran_out_of_blocks_; }
  bool asked_for_running() const { return asked_for_running_; }

  void check_at_end() const {
    EXPECT_LE(plan_.running_count(), plan_.limits().max_num_seqs);
    std::uint64_t given = 0;
    plan_.for_each_running([&](const RequestView& request) { given += plan_.scheduled_now(request.id); });
    EXPECT_EQ(given + plan_.budget(), budget_at_start_) << "the budget must be what was not given out";
    EXPECT_LE(preempted_.size(), running_at_start_ + admitted_) << "preemptions in one call";
    for (const auto& [request, tokens] : allocated_) {
      ADD_FAILURE() << "request " << number(request) << " got blocks for " << tokens
                    << " tokens that were not scheduled";
    }
  }

  double now_s() const override { return plan_.now_s(); }
  const sdk::Limits& limits() const override { return plan_.limits(); }
  std::uint32_t budget() const override { return plan_.budget(); }
  std::uint32_t free_blocks() const override { return plan_.free_blocks(); }
  std::uint32_t total_blocks() const override { return plan_.total_blocks(); }
  std::size_t running_count() const override { return plan_.running_count(); }
  std::size_t waiting_count() const override { return plan_.waiting_count(); }
  RequestView view(RequestId request) const override { return plan_.view(request); }
  RequestId last_running() const override { return plan_.last_running(); }
  std::uint32_t scheduled_now(RequestId request) const override { return plan_.scheduled_now(request); }
  std::size_t read_running(std::size_t& cursor, std::span<RequestView> into) const override {
    return plan_.read_running(cursor, into);
  }
  std::size_t read_waiting(std::size_t& cursor, std::span<RequestView> into) const override {
    return plan_.read_waiting(cursor, into);
  }
  const RequestView* next_waiting() override {
    const RequestView* const next = plan_.next_waiting();
    if (next != nullptr) waiting_.insert(next->id);  // it may have been held back when the call began
    return next;
  }

  Stop schedule_running() override {
    asked_for_running_ = true;
    const Stop stop = plan_.schedule_running();
    note('r', stop == Stop::kNoBlocks ? plan_.stopped_at() : sdk::kNoRequest, static_cast<std::uint32_t>(stop));
    if (stop == Stop::kNoBlocks) ran_out_of_blocks_ = true;
    return stop;
  }
  RequestId stopped_at() const override { return plan_.stopped_at(); }

  PrefixHit find_prefix(RequestId request) override {
    EXPECT_TRUE(waiting_.contains(request)) << "find_prefix of " << number(request) << ", which does not wait";
    return plan_.find_prefix(request);
  }
  bool try_allocate(RequestId request, std::uint32_t tokens) override {
    EXPECT_TRUE(running_.contains(request) || waiting_.contains(request)) << number(request) << " is in no queue";
    EXPECT_FALSE(allocated_.contains(request)) << number(request) << " is allocated twice";
    const bool fits = plan_.try_allocate(request, tokens);
    if (!fits) {
      if (running_.contains(request)) ran_out_of_blocks_ = true;
      return false;
    }
    acted_ = true;
    allocated_[request] = tokens;
    return true;
  }
  void schedule(RequestId request, std::uint32_t tokens) override {
    EXPECT_TRUE(running_.contains(request)) << number(request) << " does not run";
    give(request, tokens);
    plan_.schedule(request, tokens);
    note('s', request, tokens);
  }
  void admit(RequestId request, std::uint32_t tokens) override {
    EXPECT_EQ(waiting_.erase(request), 1U) << number(request) << " does not wait";
    EXPECT_LT(plan_.running_count(), plan_.limits().max_num_seqs);
    give(request, tokens);
    plan_.admit(request, tokens);
    running_.insert(request);
    ++admitted_;
    ++owner_.admissions_;
    note('a', request, tokens);
  }
  bool start_load(RequestId request) override {
    EXPECT_TRUE(waiting_.contains(request)) << number(request) << " does not wait";
    const bool fits = plan_.start_load(request);
    if (!fits) return false;
    acted_ = true;
    waiting_.erase(request);
    note('l', request, 0);
    return true;
  }
  void preempt(RequestId request) override {
    EXPECT_EQ(running_.erase(request), 1U) << number(request) << " does not run";
    EXPECT_TRUE(preempted_.insert(request).second) << number(request) << " is preempted twice in one call";
    acted_ = true;
    ++owner_.preemptions_;
    plan_.preempt(request);
    waiting_.insert(request);
    note('p', request, 0);
  }
  void skip(RequestId request) override {
    EXPECT_TRUE(waiting_.contains(request)) << number(request) << " does not wait";
    skipped_ = true;
    plan_.skip(request);
    note('k', request, 0);
  }
  void explain(std::string_view why) override { plan_.explain(why); }

 private:
  static std::uint32_t number(RequestId request) { return static_cast<std::uint32_t>(request); }

  void give(RequestId request, std::uint32_t tokens) {
    EXPECT_LE(tokens, plan_.budget()) << "over the budget";
    const auto found = allocated_.find(request);
    EXPECT_TRUE(found != allocated_.end() && found->second == tokens)
        << number(request) << " is scheduled without blocks for " << tokens << " tokens";
    if (found != allocated_.end()) allocated_.erase(found);
    acted_ = true;
    owner_.tokens_ += tokens;
  }
  void note(char action, RequestId request, std::uint32_t value) {
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(action), std::uint64_t{number(request)}, std::uint64_t{value}}) {
      owner_.digest_ = (owner_.digest_ ^ part) * 1099511628211ULL;
    }
  }

  Plan& plan_;
  CheckedPolicy& owner_;
  std::uint32_t budget_at_start_;
  std::size_t running_at_start_;
  std::set<RequestId> running_, waiting_, preempted_;
  std::map<RequestId, std::uint32_t> allocated_;
  std::size_t admitted_ = 0;
  bool only_decodes_ = true;
  bool skipped_ = false;
  bool acted_ = false;
  bool ran_out_of_blocks_ = false;
  bool asked_for_running_ = false;
};

void CheckedPolicy::schedule(Plan& plan) {
  if (plan.free_blocks() > free_blocks_) promised_ = 0;
  Watch watch(plan, *this);
  policy_.schedule(watch);
  watch.check_at_end();
  if (promised_ > 0 && watch.only_decodes() && !watch.ran_out_of_blocks()) {
    EXPECT_TRUE(watch.asked_for_running() && !watch.acted())
        << "horizon() promised schedule_running() and nothing else";
    ++kept_promises_;
  }
  // A request passed over waits for the answer to its look-up, which may come in any call.
  promised_ = watch.skipped() ? 0 : policy_.horizon(watch);
  free_blocks_ = plan.free_blocks();
}

}  // namespace dooly::test
