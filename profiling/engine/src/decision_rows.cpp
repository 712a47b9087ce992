#include "decision_rows.hpp"

#include <algorithm>

namespace dooly::profiling {

namespace {

using nlohmann::json;

constexpr std::size_t kWaitingShown = 16;

json admission_row(const replica::CallRecord::Admission& admission, bool with_nulls) {
  json row = {{"id", admission.tag},   {"k", admission.resumed ? "res" : "new"},
              {"n", admission.tokens}, {"c", admission.computed},
              {"hit", admission.hit},  {"blk", admission.table}};
  if (with_nulls) row["null"] = admission.nulls;
  return row;
}

void add_running(const replica::CallRecord& call, std::size_t groups, json& row) {
  if (call.running.empty()) return;
  std::vector<json> blocks(groups, json::array());
  for (const auto& run : call.running) {
    row["run"].push_back(run.tag);
    row["n"].push_back(run.tokens);
    for (std::size_t group = 0; group < groups; ++group) blocks[group].push_back(run.new_blocks[group]);
  }
  row["b"] = blocks;
  row["cs"] = call.running_context;
}

}  // namespace

void DecisionRows::begin() { row_ = json::object(); }

void DecisionRows::called() {
  const replica::CallRecord& call = engine_.last_call();
  const std::vector<replica::KvGroup>& groups = engine_.config().groups;
  const bool plain = groups.size() == 1 && groups[0].kind == replica::KvGroup::Kind::kFull;
  add_running(call, groups.size(), row_);
  for (const auto& admission : call.admitted) row_["adm"].push_back(admission_row(admission, !plain));
  for (const auto& lost : call.preempted) row_["pre"].push_back({lost.tag, lost.computed, lost.held});
  row_["i"] = call.call;
  row_["tok"] = call.tokens;
  row_["free"] = call.free_blocks;
  if (call.evicted > 0) row_["evict"] = call.evicted;
  if (std::any_of(call.common_prefix.begin(), call.common_prefix.end(),
                  [](std::uint32_t blocks) { return blocks > 0; }))
    row_["cp"] = call.common_prefix;
}

void DecisionRows::read(std::span<const replica::ResultEvent> events) {
  row_["u"] = results_++;
  for (const replica::ResultEvent& event : events)
    if (event.finished) row_["fin"].push_back(event.tag);
}

void DecisionRows::end() {
  // Nobody was added in a turn without a call, and whoever comes after it is logged with the call that is next.
  if (!row_.contains("i")) row_["now"] = engine_.calls() - 1;
  row_["free2"] = engine_.cache().free_blocks();
  if (engine_.config().enable_prefix_caching) row_["hc"] = engine_.cache().distinct_keys();
  row_["R"] = engine_.running_tags();
  const std::vector<replica::RequestTag> skipped = engine_.skipped_tags();
  row_["nW"] = engine_.waiting_total() - skipped.size();
  if (const auto waiting = engine_.waiting_tags(kWaitingShown); !waiting.empty()) row_["W"] = waiting;
  if (!skipped.empty()) row_["S"] = skipped;
  rows_.push_back(row_.dump());
}

}  // namespace dooly::profiling
