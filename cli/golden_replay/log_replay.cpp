#include "log_replay.hpp"

#include "schedulers/builtin.hpp"

#include <fmt/format.h>

#include <cmath>

namespace dooly::golden {
namespace {

using nlohmann::json;

oracle::FixedOracle clock_oracle(const GoldenLog::Clock& clock) {
  return oracle::FixedOracle({.base = clock.base_us * 1e-6,
                              .per_token = clock.per_token_us * 1e-6,
                              .per_1000_context = clock.per_1000_context_us * 1e-6,
                              .whole_microseconds = true});
}

std::unique_ptr<sdk::SchedulerPolicy> make_policy(std::string_view name) {
  for (const sdk::PolicyEntry& entry : schedulers::builtin_policies())
    if (entry.name == name) return entry.create(sdk::Options{});
  throw std::logic_error("policy is not built in");
}

/// FNV-1a over the ids as little-endian 4-byte words.
std::string digest(const std::vector<std::uint32_t>& ids) {
  std::uint64_t hash = 0xCBF29CE484222325ULL;
  for (const std::uint32_t id : ids)
    for (int shift = 0; shift < 32; shift += 8) hash = (hash ^ ((id >> shift) & 255)) * 0x100000001B3ULL;
  return fmt::format("{:016x}", hash);
}

}  // namespace

LogReplay::LogReplay(const GoldenLog& log, std::unique_ptr<replica::KvCache> cache)
    : log_(log),
      policy_(make_policy("vllm-v1")),
      oracle_(clock_oracle(log.clock)),
      has_ids_(cache != nullptr || log.config.groups.size() > 1 ||
               log.config.groups[0].kind != replica::KvGroup::Kind::kFull),
      replica_(log.config, *policy_, oracle_, *this, std::move(cache)) {
  replica_.engine().record(true);
  for (std::size_t i = 0; i < log.requests.size(); ++i) {
    due_.emplace(std::pair{log.requests[i].at, log.requests[i].id}, i);
    by_id_.emplace(log.requests[i].id, i);
  }
}

std::int64_t LogReplay::clock_us() const { return std::llround(replica_.clock_s() * 1e6); }

json LogReplay::step(const json& row) {
  json out = json::object();
  replica::Engine& engine = replica_.engine();
  if (log_.timed && !engine.has_requests() && engine.batches_in_flight() == 0 && !due_.empty())
    replica_.set_clock(static_cast<double>(std::max(clock_us(), due_.begin()->first.first)) * 1e-6);
  if (!log_.timed) call_ = row.contains("i") ? row.at("i") : row.at("now");
  if (log_.timed) out["t"] = clock_us();
  add_due(row, log_.timed ? clock_us() : call_, out);
  for (const json& id : row.value("ab", json::array())) engine.abort(id);
  for (const json& event : row.value("ev", json::array())) control(event);
  const std::uint64_t calls = engine.calls();
  const bool ran = replica_.schedule_step();
  if (engine.calls() != calls) describe_call(out);
  if (replica_.must_wait()) read_result(row, out);
  if (log_.timed) out["t2"] = clock_us();
  describe_state(out);
  for (const char* input : {"ab", "ev", "mid", "recv", "sent", "now"})
    if (row.contains(input)) out[input] = row.at(input);
  if (!ran && engine.has_requests()) replica_.set_clock(replica_.clock_s() + log_.clock.idle_us * 1e-6);
  return out;
}

void LogReplay::add_due(const json& row, std::int64_t now, json& out) {
  json derived = json::array();
  for (auto next = due_.begin(); next != due_.end() && next->first.first <= now; ++next)
    derived.push_back(next->first.second);
  if (!derived.empty()) out["add"] = derived;
  for (const json& id : row.value("add", json::array())) {
    const GoldenLog::Request& request = log_.requests[by_id_.at(id)];
    due_.erase({request.at, request.id});
    replica_.engine().add(request.request);
  }
}

void LogReplay::control(const json& event) {
  using Pause = replica::Engine::Pause;
  replica::Engine& engine = replica_.engine();
  if (event.at(0) == "pause") {
    const std::string mode = event.at(1);
    engine.pause(mode == "all" ? Pause::kAll : mode == "new" ? Pause::kNew : Pause::kNone);
  } else {
    engine.reset_cache(event.at(1));
  }
}

void LogReplay::read_result(const json& row, json& out) {
  replica::Engine& engine = replica_.engine();
  out["u"] = call_numbers_[results_++];
  for (const json& id : row.value("mid", json::array())) engine.abort(id);
  finished_.clear();
  replica_.read_result();
  if (!finished_.empty()) out["fin"] = finished_;
  if (row.contains("recv")) engine.load_finished(row.at("recv"));
  if (row.contains("sent")) engine.release_held(row.at("sent"));
}

void LogReplay::describe_call(json& out) {
  const replica::CallRecord& call = replica_.engine().last_call();
  const bool plain = log_.config.groups.size() == 1 && log_.config.groups[0].kind == replica::KvGroup::Kind::kFull;
  json ids = json::object();
  if (!call.running.empty()) {
    json run = json::array(), tokens = json::array();
    std::vector<json> blocks(log_.config.groups.size(), json::array());
    for (const auto& entry : call.running) {
      run.push_back(entry.tag);
      tokens.push_back(entry.tokens);
      for (std::size_t g = 0; g < blocks.size(); ++g) blocks[g].push_back(entry.new_blocks[g]);
      if (!entry.ids.empty()) ids[std::to_string(entry.tag)] = entry.ids;
    }
    out["run"] = run;
    out["n"] = tokens;
    out["b"] = blocks;
    out["cs"] = call.running_context;
  }
  for (const auto& entry : call.admitted) {
    json admission = {{"id", entry.tag},   {"k", entry.resumed ? "res" : "new"},
                      {"n", entry.tokens}, {"c", entry.computed},
                      {"hit", entry.hit},  {"blk", entry.table}};
    if (!plain) admission["null"] = entry.nulls;
    out["adm"].push_back(admission);
    ids[std::to_string(entry.tag)] = entry.ids;
  }
  for (const auto& load : call.loads) {
    out["load"].push_back({{"id", load.tag},
                           {"hit", load.hit},
                           {"ext", load.remote},
                           {"blk", load.table},
                           {"due", call_ + log_.requests[by_id_.at(load.tag)].load_delay}});
    ids[std::to_string(load.tag)] = load.ids;
  }
  for (const auto& lost : call.preempted) out["pre"].push_back(json::array({lost.tag, lost.computed, lost.held}));
  out["i"] = call_;
  out["tok"] = call.tokens;
  if (log_.timed) out["ctx"] = call.context_after;
  out["free"] = call.free_blocks;
  if (call.evicted > 0) out["evict"] = call.evicted;
  for (const std::uint32_t blocks : call.common_prefix)
    if (blocks > 0) out["cp"] = call.common_prefix;
  if (log_.block_ids && has_ids_ && !ids.empty()) out["ids"] = ids;
  call_numbers_.push_back(call_++);
}

void LogReplay::describe_state(json& out) {
  replica::Engine& engine = replica_.engine();
  out["free2"] = engine.cache().free_blocks();
  if (log_.config.enable_prefix_caching) {
    engine.sync_cache_counts();
    out["hc"] = engine.cache().distinct_keys();
  }
  out["R"] = engine.running_tags();
  const std::vector<replica::RequestTag> waiting = engine.waiting_tags(log_.waiting_shown);
  out["nW"] = engine.waiting_total() - engine.skipped_tags().size();
  if (!waiting.empty()) out["W"] = waiting;
  if (const auto skipped = engine.skipped_tags(); !skipped.empty()) out["S"] = skipped;
  if (log_.block_ids && has_ids_) {
    const std::vector<std::uint32_t> queue = engine.cache().free_queue();
    out["fq"] = digest(queue);
    out["fh"] = std::vector<std::uint32_t>(
        queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(8, queue.size())));
  }
}

}  // namespace dooly::golden
