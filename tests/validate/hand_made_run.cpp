#include "hand_made_run.hpp"

#include <fmt/format.h>

#include <fstream>

namespace dooly::validate::test {
namespace {

void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

std::string request(const char* id, int sent, int first, int done) {
  return fmt::format(
      R"({{"id":"{}","sent_us":{},"recv_us":{},"added_us":{},"engine_us":[{},{},{},{}],"in":100,"out":3,)"
      R"("first_us":{},"done_us":{},"cached":0}})"
      "\n",
      id, sent, sent, sent, sent, sent, first, done, first, done);
}

/// One iteration that starts at `at` and takes `gpu` µs on a device that idled for `gap`; the host launches in 1 ms.
std::string iteration(int at, int gap, int gpu, const std::string& cg, int tokens, int prefills, int context, int free,
                      const std::string& set) {
  return fmt::format("[{},{},{},{},{},{},{},{},{},{},\"{}\",{},1,0,{},1,{},{},{},[{}],[],[]]\n", at, at, at, at + 1000,
                     at + 1000, at + 1000, at + gpu, at + gpu, gap, gpu, cg, tokens, free, tokens, prefills, context,
                     set);
}

}  // namespace

void write_hand_made_run(const std::filesystem::path& directory, int first_tokens) {
  const std::filesystem::path folder = directory / "tiny";
  std::filesystem::create_directories(folder);
  write(folder / "engine.json",
        R"({"resolved": {"num_gpu_blocks": 1000, "scheduler_config": {"async_scheduling": "False"}}})");
  write(folder / "run.run.json", R"({"run": "run", "kind": "open", "meta": {}, "keep_free_blocks": null})");
  write(folder / "run.requests.jsonl.gz",  // readers take plain text as well
        request("r0", 0, 8000, 33000) + request("r1", 1000000, 1012000, 1032000));
  std::string rows =
      R"({"t_gpu_ref_us":0,"fields":["sched0","sched1","exec0","exec1","samp1","wait0","wait1","upd1","gpu_gap",)"
      R"("gpu_dur","cg","pad","running","waiting","free","nr","nt","npf","ctx","set","del","preempted"]})"
      "\n";
  rows += iteration(0, 0, 10000, "PIECEWISE", first_tokens, 1, 100, 992, fmt::format("[\"r0\",{},0]", first_tokens));
  const bool is_whole = first_tokens == 100;
  rows += iteration(10000, 0, 8000, "FULL", 1, is_whole ? 0 : 1, 101, 992,
                    is_whole ? "" : fmt::format("[\"r0\",1,{}]", first_tokens));
  rows += iteration(18000, 0, 8000, "FULL", 1, 0, 102, 992, "");
  std::string second = iteration(1000000, 974000, 10000, "PIECEWISE", 100, 1, 100, 992, R"(["r1",100,0])");
  second.replace(second.rfind("[],[]"), 5, R"(["r0"],[])");  // r0 was expected again
  rows += second + iteration(1010000, 0, 8000, "FULL", 1, 0, 101, 992, "") +
          iteration(1018000, 0, 8000, "FULL", 1, 0, 102, 992, "");
  write(folder / "run.iterations.jsonl.gz", rows);
}

std::string hand_made_validation(const std::string& more) {
  return "measurement: {format: vllm-h200-groundtruth, path: tiny/run}\n"
         "scenario:\n"
         "  dooly: 1\n"
         "  model: meta-llama/Llama-3.1-8B\n"
         "  gpu: H200-SXM\n"
         "  engine: {async_scheduling: false}\n"
         "  platform: {host: none}\n"
         "  oracle: [{kind: fixed, base: 10ms, per_token: 0s, per_1000_context: 0s}]\n" +
         more;
}

}  // namespace dooly::validate::test
