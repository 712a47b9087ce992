// The files of a served run.
#include "files/whole_file.hpp"
#include "gzip_writer.hpp"
#include "profiling_engine/served_run.hpp"
#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dooly::profiling {

namespace {

using json = nlohmann::ordered_json;

constexpr double kMilliPerMicro = 1e-3;

std::string id_of(std::size_t request) { return fmt::format("r{}", request); }

double rounded(double value) { return std::round(value * 1000) / 1000; }

// --- requests

json request_row(const ServedRequest& served, std::size_t number) {
  json row = {{"id", id_of(number)},
              {"arrival_s", served.request.arrival_s},
              {"sent_us", served.sent_us},
              {"in", served.request.prompt},
              {"out", served.request.output},
              {"first_us", served.token_us.front()},
              {"done_us", served.token_us.back()},
              {"recv_us", served.sent_us},
              {"added_us", served.added_us},
              {"engine_us", {served.added_us, served.scheduled_us, served.token_us.front(), served.token_us.back()}},
              {"cached", served.cached}};
  if (served.request.prefix_group != ServeRequest::kNoPrefix) {
    row["prefix_group"] = served.request.prefix_group;
    row["prefix_len"] = served.request.prefix_tokens;
  }
  json& times = row["t"] = json::array();
  std::int64_t last = 0;
  for (const std::int64_t at : served.token_us) times.push_back(at - std::exchange(last, at));
  return row;
}

// --- iterations

constexpr const char* kFields[] = {"sched0",  "sched1",  "exec0", "exec1", "samp1",   "wait0",    "wait1", "upd1",
                                   "gpu_gap", "gpu_dur", "cg",    "pad",   "running", "waiting",  "free",  "nr",
                                   "nt",      "npf",     "ctx",   "set",   "del",     "preempted"};

/// Writes batches as differences to what is expected of the one before: who made a token is there again with one more.
class BatchDifferences {
 public:
  explicit BatchDifferences(const ServedRun& run) : run_(run) {}

  std::pair<json, json> next(const ServedIteration& iteration) {
    std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> expected = expected_;
    json set = json::array(), absent = json::array();
    expected_.clear();
    for (const ServedPart& part : iteration.batch) {
      const auto known = expected.find(part.request);
      if (known == expected.end() || known->second != std::pair{part.tokens, part.computed})
        set.push_back({id_of(part.request), part.tokens, part.computed});
      if (known != expected.end()) expected.erase(known);
      const std::uint32_t end = part.computed + part.tokens;
      if (part.tokens == 1 || end >= run_.requests[part.request].request.prompt) expected_[part.request] = {1, end};
    }
    for (const auto& [request, part] : expected) absent.push_back(id_of(request));
    return {std::move(set), std::move(absent)};
  }

 private:
  const ServedRun& run_;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> expected_;
};

/// Where the gap of the first step counts from: its device was idle before it, so the gap is 0 and this is its begin.
std::int64_t device_reference_us(const ServedRun& run) {
  if (run.iterations.empty()) return 0;
  const ServedIteration& first = run.iterations.front();
  return first.wait_end - std::llround(first.device_us);
}

json iteration_row(const ServedRun& run, const ServedIteration& iteration, BatchDifferences& differences) {
  std::uint32_t tokens = 0;
  std::size_t prefills = 0;
  for (const ServedPart& part : iteration.batch) {
    tokens += part.tokens;
    prefills += part.computed < run.requests[part.request].request.prompt ? 1 : 0;
  }
  json preempted = json::array();
  for (const std::uint32_t request : iteration.preempted) preempted.push_back(id_of(request));
  auto [set, absent] = differences.next(iteration);
  return {iteration.schedule_begin,
          iteration.schedule_end,
          iteration.launch_begin,
          iteration.launch_end,
          iteration.launch_end,
          iteration.wait_begin,
          iteration.wait_end,
          iteration.update_end,
          std::llround(iteration.device_gap_us),
          std::llround(iteration.device_us),
          iteration.is_graph ? "FULL" : "NONE",
          iteration.padded,
          iteration.running,
          iteration.waiting,
          iteration.free_blocks,
          iteration.batch.size(),
          tokens,
          prefills,
          iteration.context_after,
          std::move(set),
          std::move(absent),
          std::move(preempted)};
}

// --- the run as a whole

double percentile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

json distribution(std::vector<double> values) {
  if (values.empty()) return nullptr;
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  return {{"mean", rounded(sum / static_cast<double>(values.size()))},
          {"p50", rounded(percentile(values, 0.5))},
          {"p90", rounded(percentile(values, 0.9))},
          {"p99", rounded(percentile(values, 0.99))}};
}

struct Latencies {
  std::vector<double> ttft, tpot, itl, lateness;
  std::int64_t first_us = 0, last_us = 0;
  std::uint64_t prompt = 0, output = 0, cached = 0, preemptions = 0;
};

Latencies latencies_of(const ServedRun& run) {
  Latencies out;
  out.first_us = run.requests.empty() ? 0 : run.requests.front().sent_us;
  for (const ServedRequest& served : run.requests) {
    const std::vector<std::int64_t>& at = served.token_us;
    out.ttft.push_back(static_cast<double>(at.front() - served.sent_us) * kMilliPerMicro);
    out.lateness.push_back(static_cast<double>(served.added_us - served.sent_us) * kMilliPerMicro);
    if (at.size() > 1)
      out.tpot.push_back(static_cast<double>(at.back() - at.front()) * kMilliPerMicro /
                         static_cast<double>(at.size() - 1));
    for (std::size_t i = 1; i < at.size(); ++i)
      out.itl.push_back(static_cast<double>(at[i] - at[i - 1]) * kMilliPerMicro);
    out.last_us = std::max(out.last_us, at.back());
    out.prompt += served.request.prompt;
    out.output += served.request.output;
    out.cached += served.cached;
    out.preemptions += served.preemptions;
  }
  return out;
}

void add_batches(const ServedRun& run, double duration_us, json& row) {
  double requests = 0, tokens = 0, device_us = 0;
  std::size_t most = 0, waiting = 0;
  for (const ServedIteration& iteration : run.iterations) {
    requests += static_cast<double>(iteration.batch.size());
    most = std::max(most, iteration.batch.size());
    waiting = std::max<std::size_t>(waiting, iteration.waiting);
    device_us += iteration.device_us;
    for (const ServedPart& part : iteration.batch) tokens += part.tokens;
  }
  const double count = std::max<double>(1, static_cast<double>(run.iterations.size()));
  row["iterations"] = run.iterations.size();
  row["mean_batch_requests"] = rounded(requests / count);
  row["max_batch_requests"] = most;
  row["mean_batch_tokens"] = rounded(tokens / count);
  row["max_waiting"] = waiting;
  const auto captured = std::count_if(run.iterations.begin(), run.iterations.end(),
                                      [](const ServedIteration& iteration) { return iteration.is_graph; });
  row["cudagraph_modes"] = {{"NONE", static_cast<std::int64_t>(run.iterations.size()) - captured}};
  if (captured > 0) row["cudagraph_modes"]["FULL"] = captured;
  row["gpu_busy_fraction"] = rounded(device_us / duration_us);
}

json run_object(const ServedRun& run) {
  const Latencies latencies = latencies_of(run);
  const double duration_us = std::max<double>(1, static_cast<double>(latencies.last_us - latencies.first_us));
  const double duration_s = duration_us * 1e-6;
  json meta = {{"device", run.device}, {"kernels", run.kernels}, {"policy", run.policy}};
  if (run.workers > 0) meta["arrivals"] = fmt::format("closed loop, {} workers", run.workers);
  json row = {{"run", run.name},
              {"kind", run.workers > 0 ? "closed" : "open"},
              {"meta", meta},
              {"requests", run.requests.size()},
              {"duration_s", rounded(duration_s)},
              {"t0_mono_ns", run.zero_ns},
              {"arrival0_us", 0},
              {"end_us", latencies.last_us},
              {"request_throughput", rounded(static_cast<double>(run.requests.size()) / duration_s)},
              {"output_tok_s", rounded(static_cast<double>(latencies.output) / duration_s)},
              {"input_tok_s", rounded(static_cast<double>(latencies.prompt) / duration_s)},
              {"ttft_ms", distribution(latencies.ttft)},
              {"tpot_ms", distribution(latencies.tpot)},
              {"itl_ms", distribution(latencies.itl)},
              {"send_lateness_ms", distribution(latencies.lateness)},
              {"recorded", true},
              {"preemptions", latencies.preemptions},
              {"cached_token_fraction",
               rounded(static_cast<double>(latencies.cached) / std::max<double>(1, double(latencies.prompt)))}};
  add_batches(run, duration_us, row);
  return row;
}

const char* python(bool value) { return value ? "True" : "False"; }

json engine_object(const ServedRun& run) {
  const replica::EngineConfig& engine = run.engine;
  const json scheduler = {{"max_num_batched_tokens", std::to_string(engine.max_num_batched_tokens)},
                          {"max_num_seqs", std::to_string(engine.max_num_seqs)},
                          {"long_prefill_token_threshold", std::to_string(engine.long_prefill_token_threshold)},
                          {"enable_chunked_prefill", python(engine.enable_chunked_prefill)},
                          {"policy", engine.by_priority ? "priority" : "fcfs"},
                          {"scheduler_reserve_full_isl", python(engine.reserve_full_prompt)},
                          {"async_scheduling", python(engine.async_scheduling)}};
  json groups = json::array();
  for (const replica::KvGroup& group : engine.groups)
    groups.push_back({{"block_size", group.block_size}, {"window", group.window}});
  const json resolved = {{"num_gpu_blocks", engine.num_blocks},
                         {"block_size", engine.scheduler_block_size},
                         {"enable_prefix_caching", engine.enable_prefix_caching},
                         {"batch_queue_size", engine.depth()},
                         {"watermark_blocks", engine.watermark_blocks},
                         {"max_num_scheduled_tokens", engine.max_num_batched_tokens},
                         {"scheduler_config", scheduler},
                         {"model", {{"dtype", run.dtype}, {"max_model_len", std::to_string(engine.max_model_len)}}},
                         {"kv_groups", groups}};
  return {{"model", run.model}, {"engine", "dooly"}, {"kernels", run.kernels}, {"resolved", resolved}};
}

// --- decisions

json group_object(const replica::KvGroup& group) {
  using Kind = replica::KvGroup::Kind;
  json out = {{"kind", group.kind == Kind::kFull            ? "full"
                       : group.kind == Kind::kSlidingWindow ? "swa"
                                                            : "local"},
              {"block_size", group.block_size}};
  if (group.kind == Kind::kSlidingWindow) out["window"] = group.window;
  if (group.kind == Kind::kChunkedLocal) out["chunk"] = group.window;
  out["admission_cap"] = group.admission_cap > 0 ? json(group.admission_cap) : json();
  return out;
}

json decision_request(const ServedRequest& served, std::size_t number) {
  const ServeRequest& request = served.request;
  const std::uint32_t shared =
      request.prefix_group == ServeRequest::kNoPrefix ? 0 : std::min(request.prefix_tokens, request.prompt);
  json prompt = json::array();
  if (shared > 0) prompt.push_back({request.prefix_group, 0, shared});
  if (shared < request.prompt) prompt.push_back({8192 + number, 0, request.prompt - shared});
  return {{"id", number},
          {"at", served.first_call},
          {"prompt", prompt},
          {"out", request.output},
          {"prio", request.priority}};
}

json decision_header(const ServedRun& run) {
  const replica::EngineConfig& engine = run.engine;
  const json scheduler = {{"max_num_scheduled_tokens", engine.max_num_batched_tokens},
                          {"max_num_seqs", engine.max_num_seqs},
                          {"max_model_len", engine.max_model_len},
                          {"enable_chunked_prefill", engine.enable_chunked_prefill},
                          {"long_prefill_token_threshold", engine.long_prefill_token_threshold},
                          {"policy", engine.by_priority ? "priority" : "fcfs"},
                          {"scheduler_reserve_full_isl", engine.reserve_full_prompt},
                          {"async_scheduling", engine.async_scheduling},
                          {"max_concurrent_batches", engine.depth()},
                          {"watermark_blocks", engine.watermark_blocks}};
  json groups = json::array(), requests = json::array();
  for (const replica::KvGroup& group : engine.groups) groups.push_back(group_object(group));
  for (std::size_t i = 0; i < run.requests.size(); ++i) requests.push_back(decision_request(run.requests[i], i));
  const json kv = {{"num_blocks", engine.num_blocks},
                   {"enable_prefix_caching", engine.enable_prefix_caching},
                   {"groups", groups},
                   {"scheduler_block_size", engine.scheduler_block_size},
                   {"kv_role", nullptr},
                   {"defer_block_free", engine.defer_block_free}};
  return {{"type", "header"},
          {"format", 1},
          {"engine", "dooly"},
          {"scheduler", scheduler},
          {"kv", kv},
          {"clock", {{"unit", "us"}, {"base", 0}, {"per_token", 0}, {"per_1000_context", 0}, {"idle", 0}}},
          {"arrivals", "iteration"},
          {"log", {{"block_ids", false}, {"waiting", 16}}},
          {"requests", requests}};
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw ProfilingError(fmt::format("{}: cannot be made: {}", folder.string(), failed.message()));
}

}  // namespace

void write_run(const ServedRun& run, const std::filesystem::path& folder) {
  make_folder(folder);
  files::write_whole_file(folder / "engine.json", engine_object(run).dump(1) + "\n");
  files::write_whole_file(folder / (run.name + ".run.json"), run_object(run).dump(1) + "\n");
  GzipWriter requests(folder / (run.name + ".requests.jsonl.gz"));
  for (std::size_t i = 0; i < run.requests.size(); ++i) requests.line(request_row(run.requests[i], i).dump());
  requests.close();
  GzipWriter iterations(folder / (run.name + ".iterations.jsonl.gz"));
  const json header = {{"t0_mono_ns", run.zero_ns}, {"t_gpu_ref_us", device_reference_us(run)}, {"fields", kFields}};
  iterations.line(header.dump());
  BatchDifferences differences(run);
  for (const ServedIteration& iteration : run.iterations)
    iterations.line(iteration_row(run, iteration, differences).dump());
  iterations.close();
}

std::vector<std::string> engine_differences(const ServedRun& run, const std::filesystem::path& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder / "engine.json", ignored)) return {};
  const json there = json::parse(std::ifstream(folder / "engine.json"), nullptr, false);
  if (!there.is_object()) return {"engine.json"};
  const json before = there.flatten(), now = engine_object(run).flatten();
  std::set<std::string> keys;
  for (const auto& [left, right] : {std::pair(&before, &now), std::pair(&now, &before)})
    for (const auto& [pointer, value] : left->items()) {
      if (right->contains(pointer) && (*right)[pointer] == value) continue;
      std::string key = pointer.substr(1);
      std::replace(key.begin(), key.end(), '/', '.');
      keys.insert(key);
    }
  return {keys.begin(), keys.end()};
}

void write_decisions(const ServedRun& run, const std::filesystem::path& folder) {
  make_folder(folder);
  GzipWriter log(folder / (run.name + ".decisions.jsonl.gz"));
  log.line(decision_header(run).dump());
  for (const std::string& row : run.decisions) log.line(row);
  log.close();
}

}  // namespace dooly::profiling
