// The built-in engine in real time: tokens, decisions and logs.
#include "profiling_engine/serve.hpp"

#include "profiling_engine/step_runner.hpp"
#include "profiling_kernels/profiling_error.hpp"
#include "test_support/scratch.hpp"
#include "tiny_models.hpp"

#include "golden_log.hpp"
#include "log_replay.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <memory>
#include <set>

namespace dooly::profiling {
namespace {

using nlohmann::json;

constexpr std::uint64_t kSeed = 7;  // that of TinyModel

ModelFile tiny_file(std::string_view family) {
  const std::string text = tiny_config(family);
  ModelFile file{.config = oracle::parse_model(text, family), .numbers = {}};
  file.numbers = parse_numbers(text, file.config);
  return file;
}

/// Requests of 10 to 40 tokens: twelve at once, so that some have to wait, the rest while these are served.
std::vector<ServeRequest> crowd(std::size_t count) {
  std::vector<ServeRequest> requests;
  for (std::size_t i = 0; i < count; ++i) {
    ServeRequest request;
    request.arrival_s = i < 12 ? 0 : 0.002 * static_cast<double>(i - 11);
    request.prompt = static_cast<std::uint32_t>(10 + 7 * i % 31);
    request.output = static_cast<std::uint32_t>(5 + 5 * i % 23);
    if (i % 3 == 1) {
      request.prefix_group = i % 2;
      request.prefix_tokens = 9;
    }
    requests.push_back(request);
  }
  return requests;
}

ServeOptions options_for(bool async, std::uint32_t blocks) {
  ServeOptions options;
  options.dtype = "float32";
  options.seed = kSeed;
  options.block_size = TinyModel::kBlockSize;
  options.engine.async_scheduling = async;
  options.engine.num_blocks = blocks;
  options.engine.max_num_batched_tokens = 32;
  options.engine.max_num_seqs = 8;
  return options;
}

struct ServeCase {
  std::string_view family;
  bool async;
  std::uint32_t blocks;
};

class Serving : public testing::TestWithParam<ServeCase> {
 protected:
  ServedRun served(const std::vector<ServeRequest>& requests) {
    const auto kernels = make_torch_kernels();
    return serve(tiny_file(GetParam().family), requests, options_for(GetParam().async, GetParam().blocks), *kernels);
  }
};

/// Chunks, batches, prefix hits and preemptions change no token.
TEST_P(Serving, EveryRequestGetsTheTokensThatItGetsAlone) {
  const std::vector<ServeRequest> requests = crowd(18);
  const ServedRun run = served(requests);
  TinyModel tiny(GetParam().family);
  std::uint32_t preemptions = 0, cached = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(run.requests[i].tokens, tiny.generate(prompt_tokens(requests[i], i, kSeed, 500), requests[i].output))
        << "request " << i;
    preemptions += run.requests[i].preemptions;
    cached += run.requests[i].cached;
  }
  EXPECT_EQ(preemptions > 0, GetParam().blocks < 60) << preemptions;
  EXPECT_TRUE(cached > 0 || GetParam().blocks < 60) << "later requests of a group find its prefix";
  if (GetParam().async) {
    const auto overlaps = [&](std::size_t i) {
      return run.iterations[i].launch_begin < run.iterations[i - 1].wait_begin;
    };
    std::size_t count = 0;
    for (std::size_t i = 1; i < run.iterations.size(); ++i) count += overlaps(i) ? 1 : 0;
    EXPECT_GT(count, run.iterations.size() / 2) << "steps are launched before the result of the step before is read";
  }
}

/// The log of what was decided in real time, replayed by the simulator's engine under both of its caches.
TEST_P(Serving, TheSimulatorDecidesTheSame) {
  const test::Scratch scratch;
  const ServedRun run = served(crowd(18));
  write_decisions(run, scratch.path());
  const golden::GoldenLog log = golden::GoldenLog::read(scratch / "run.decisions.jsonl.gz");
  ASSERT_EQ(log.rows.size(), run.decisions.size());
  for (const bool with_ids : {false, true}) {
    golden::LogReplay replay(log, with_ids ? replica::make_block_kv_cache(log.config) : nullptr);
    for (std::size_t i = 0; i < log.rows.size(); ++i)
      ASSERT_EQ(replay.step(log.rows[i]), log.rows[i]) << "row " << i << (with_ids ? ", block ids" : "");
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Serving,
                         testing::Values(ServeCase{"llama", false, 400}, ServeCase{"llama", true, 400},
                                         ServeCase{"llama", false, 28}, ServeCase{"llama", true, 28},
                                         ServeCase{"cohere2", true, 400}, ServeCase{"cohere2", false, 56},
                                         ServeCase{"qwen3_moe", true, 28}),
                         [](const auto& test) {
                           return fmt::format("{}_{}_{}", test.param.family, test.param.async ? "async" : "sync",
                                              test.param.blocks);
                         });

std::vector<std::string> gzip_lines(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::string text;
  char buffer[4096];
  for (int got = 0; (got = gzread(file.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  std::vector<std::string> lines;
  for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;
}

/// Batches of an iterations file, put together from its differences as its format says.
std::vector<std::map<std::string, std::pair<int, int>>> batches_of(const std::vector<std::string>& lines,
                                                                   const std::map<std::string, int>& prompts) {
  std::map<std::string, std::size_t> column;
  const json header = json::parse(lines[0]);
  for (std::size_t i = 0; i < header.at("fields").size(); ++i) column[header.at("fields")[i]] = i;
  std::vector<std::map<std::string, std::pair<int, int>>> batches;
  std::map<std::string, std::pair<int, int>> batch;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const json row = json::parse(lines[i]);
    std::map<std::string, std::pair<int, int>> next;
    for (const auto& [id, part] : batch)
      if (part.first == 1 || part.first + part.second >= prompts.at(id)) next[id] = {1, part.first + part.second};
    for (const json& id : row[column["del"]]) next.erase(id.get<std::string>());
    for (const json& set : row[column["set"]]) next[set[0]] = {set[1], set[2]};
    int tokens = 0;
    for (const auto& [id, part] : next) tokens += part.first;
    EXPECT_EQ(next.size(), row[column["nr"]]) << lines[i];
    EXPECT_EQ(tokens, row[column["nt"]]) << lines[i];
    batches.push_back(batch = next);
  }
  return batches;
}

TEST(RunFiles, GiveBackTheRun) {
  const test::Scratch scratch;
  const auto kernels = make_torch_kernels();
  const std::vector<ServeRequest> requests = crowd(12);
  const ServedRun run = serve(tiny_file("llama"), requests, options_for(true, 28), *kernels);
  write_run(run, scratch / "logs");
  std::map<std::string, int> prompts;
  const std::vector<std::string> rows = gzip_lines(scratch / "logs/run.requests.jsonl.gz");
  ASSERT_EQ(rows.size(), requests.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json row = json::parse(rows[i]);
    prompts[row.at("id")] = row.at("in");
    EXPECT_EQ(row.at("t").size(), requests[i].output);
    std::int64_t at = 0;
    for (const json& step : row.at("t")) at += step.get<std::int64_t>();
    EXPECT_EQ(at, row.at("done_us"));
    EXPECT_LE(row.at("sent_us"), row.at("added_us"));
    EXPECT_LE(row.at("added_us"), row.at("engine_us").at(1));
    EXPECT_LE(row.at("engine_us").at(1), row.at("first_us"));
  }
  const auto batches = batches_of(gzip_lines(scratch / "logs/run.iterations.jsonl.gz"), prompts);
  ASSERT_EQ(batches.size(), run.iterations.size());
  for (std::size_t i = 0; i < batches.size(); ++i)
    for (const ServedPart& part : run.iterations[i].batch)
      EXPECT_EQ(batches[i].at(fmt::format("r{}", part.request)),
                (std::pair{static_cast<int>(part.tokens), static_cast<int>(part.computed)}));
  const json summary = json::parse(test::text_of(scratch / "logs/run.run.json"));
  EXPECT_EQ(summary.at("iterations"), run.iterations.size());
  EXPECT_GT(summary.at("preemptions"), 0);
  const json engine = json::parse(test::text_of(scratch / "logs/engine.json"));
  EXPECT_EQ(engine.at("resolved").at("num_gpu_blocks"), 28);
  EXPECT_EQ(engine.at("resolved").at("scheduler_config").at("async_scheduling"), "True");
  EXPECT_TRUE(engine_differences(run, scratch / "logs").empty());
  EXPECT_TRUE(engine_differences(run, scratch / "none").empty());
  ServedRun other = run;
  other.engine.num_blocks = 29;
  other.engine.async_scheduling = false;
  const std::vector<std::string> keys = engine_differences(other, scratch / "logs");
  EXPECT_EQ(std::set(keys.begin(), keys.end()),
            (std::set<std::string>{"resolved.batch_queue_size", "resolved.num_gpu_blocks",
                                   "resolved.scheduler_config.async_scheduling"}));
}

TEST(Serve, AClosedLoopKeepsItsWorkersBusy) {
  ServeOptions options = options_for(true, 400);
  options.workers = 3;
  const auto kernels = make_torch_kernels();
  const ServedRun run = serve(tiny_file("qwen2"), crowd(10), options, *kernels);
  for (const ServedIteration& iteration : run.iterations) EXPECT_LE(iteration.batch.size(), 3U);
  std::vector<std::int64_t> ends;
  for (const ServedRequest& served : run.requests) ends.push_back(served.token_us.back());
  std::sort(ends.begin(), ends.end());
  for (std::size_t i = 3; i < 10; ++i) EXPECT_EQ(run.requests[i].sent_us, ends[i - 3]) << i;
}

/// Steps that warm up leave nothing behind: neither in the cache nor among the tokens that are kept.
TEST(StepRunner, IsAsBeforeWhenItHasWarmedUp) {
  TinyModel tiny("cohere2");
  StepRunner runner(tiny.model(), 4, {1, 2, 4});
  runner.warm_up(50, 4);
  ScheduledPart part;
  part.tag = 2;
  part.sequence.tokens = some_tokens(11, kSeed);
  const std::vector<std::int64_t> expected = tiny.generate(part.sequence.tokens, 6);
  TinyModel::Sequence place = tiny.open();
  std::vector<std::int64_t> found;
  for (int i = 0; i < 6; ++i) {
    part.sequence = tiny.part(place, part.sequence.tokens);
    EXPECT_EQ(runner.submit({part}).tokens, part.sequence.tokens.size());
    found.push_back(runner.collect().ids.at(0));
    part.sequence.tokens = {found.back()};
  }
  EXPECT_EQ(found, expected);
}

TEST(Serve, RefusesWhatCanNeverBeServed) {
  const auto kernels = make_torch_kernels();
  const auto refuse = [&](std::vector<ServeRequest> requests, ServeOptions options) {
    return test::message_of<ProfilingError>([&] { serve(tiny_file("llama"), requests, options, *kernels); });
  };
  ServeRequest request{.arrival_s = 1, .prompt = 100, .output = 20};
  EXPECT_EQ(refuse({request}, options_for(true, 20)),
            "request 0 of the workload (100 + 20 tokens, at 1 s): needs more than the 19 KV blocks");
  request.output = 500;
  EXPECT_EQ(refuse({request}, options_for(true, 400)),
            "request 0 of the workload (100 + 500 tokens, at 1 s): longer than the model length 512");
  ServeOptions options = options_for(true, 400);
  options.device = "tpu";
  EXPECT_EQ(refuse({}, options), "device: must be cpu or cuda, got 'tpu'");
}

}  // namespace
}  // namespace dooly::profiling
