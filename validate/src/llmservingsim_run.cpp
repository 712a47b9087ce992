#include "llmservingsim_run.hpp"

#include "gzip_lines.hpp"
#include "validate/validation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>

namespace dooly::validate {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uint32_t kBlockTokens = 16;

[[noreturn]] void refuse(const fs::path& path, std::size_t line, const std::string& what) {
  throw ValidationError(fmt::format("{}:{}: {}", path.string(), line, what));
}

/// Every line as JSON, with its number.
template <class Do>
void for_each_row(const fs::path& path, const Do& work) {
  const std::vector<std::string> lines = read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      work(i, json::parse(lines[i]));
    } catch (const json::exception& error) {
      refuse(path, i + 1, error.what());
    }
  }
}

/// The trace's name in the meta file ends in .jsonl.
fs::path trace_of(const json& meta, const fs::path& traces) {
  return traces / (fs::path(meta.at("dataset_path").get<std::string>()).stem().string() + ".blocks16.jsonl.gz");
}

fs::path read_meta(const fs::path& path, const fs::path& traces, ServingRun& run) {
  std::string all;
  for (const std::string& line : read_lines(path)) all += line + "\n";
  try {
    const json meta = json::parse(all);
    const json& engine = meta.at("engine_kwargs");
    run.model = meta.at("model");
    run.tensor_parallel = engine.at("tensor_parallel_size");
    run.max_num_seqs = engine.at("max_num_seqs");
    run.max_num_batched_tokens = engine.at("max_num_batched_tokens");
    return trace_of(meta, traces);
  } catch (const json::exception& error) {
    throw ValidationError(path.string() + ": " + error.what());
  }
}

void read_requests(const fs::path& path, ServingRun& run) {
  std::vector<double> arrivals;
  double offset = std::numeric_limits<double>::infinity();
  for_each_row(path, [&](std::size_t i, const json& row) {
    EngineTimes times{row.at("queued_ts"), row.at("scheduled_ts"), row.at("first_token_ts"), row.at("last_token_ts"),
                      row.at("output_toks")};
    if (times.queued_s > times.scheduled_s || times.scheduled_s > times.first_s || times.first_s > times.last_s)
      refuse(path, i + 1, "times run back");
    arrivals.push_back(row.at("arrival_time"));
    offset = std::min(offset, times.queued_s - arrivals.back());
    run.traffic.requests.push_back({.prompt = row.at("input_toks"), .output = times.output});
    run.times.push_back(times);
  });
  if (arrivals.empty()) throw ValidationError(path.string() + ": holds no requests");
  const double zero = *std::min_element(arrivals.begin(), arrivals.end());
  for (std::size_t i = 0; i < arrivals.size(); ++i) run.traffic.requests[i].sent_s = arrivals[i] - zero;
  for (EngineTimes& times : run.times)
    for (double* time : {&times.queued_s, &times.scheduled_s, &times.first_s, &times.last_s}) *time -= offset + zero;
}

void read_contents(const fs::path& path, ServingRun& run) {
  std::size_t rows = 0;
  for_each_row(path, [&](std::size_t i, const json& row) {
    ++rows;
    if (i >= run.traffic.requests.size()) return;
    MeasuredRequest& request = run.traffic.requests[i];
    if (row.at("input_toks") != request.prompt || row.at("output_toks") != request.output)
      refuse(path, i + 1, "is not the request that was measured: other lengths");
    request.blocks = row.at("hash_ids").get<std::vector<std::uint64_t>>();
  });
  if (rows != run.traffic.requests.size())
    throw ValidationError(
        fmt::format("{}: holds {} requests, {} were measured", path.string(), rows, run.traffic.requests.size()));
}

/// The simulation takes requests in the order in which they were sent.
void sort_by_arrival(ServingRun& run) {
  std::vector<std::size_t> order(run.times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return run.traffic.requests[a].sent_s < run.traffic.requests[b].sent_s;
  });
  std::vector<MeasuredRequest> requests;
  std::vector<EngineTimes> times;
  for (const std::size_t i : order) {
    requests.push_back(std::move(run.traffic.requests[i]));
    times.push_back(run.times[i]);
  }
  run.traffic.requests = std::move(requests);
  run.times = std::move(times);
}

}  // namespace

ServingRun read_serving_run(const fs::path& directory, const fs::path& traces) {
  ServingRun run;
  const fs::path trace = read_meta(directory / "vllm_meta.json", traces, run);
  run.traffic.block_tokens = kBlockTokens;
  read_requests(directory / "vllm_requests.jsonl.gz", run);
  read_contents(trace, run);
  sort_by_arrival(run);
  return run;
}

}  // namespace dooly::validate
