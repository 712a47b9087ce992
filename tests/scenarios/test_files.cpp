#include "test_files.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace dooly::scenario::test {
namespace {

const TestFiles& files() {
  static const TestFiles made;
  return made;
}

}  // namespace

TestFiles::TestFiles()
    : directory_(std::filesystem::temp_directory_path() / ("dooly-scenario-" + std::to_string(getpid()))) {
  std::filesystem::create_directories(directory_);
  for (const char* name : {"azure.csv", "lengths.json", "numbers.txt", "config.json", "plugin.so"})
    std::ofstream(directory_ / name) << "1\n";
  std::filesystem::create_directories(directory_ / "mine/Model-8B");
  std::ofstream(directory_ / "mine/Model-8B/config.json") << "1\n";
}

TestFiles::~TestFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

const Names& known_names() {
  static const Names names = [] {
    Names made;
    made.models = {"meta-llama/Meta-Llama-3.1-8B", "Qwen/Qwen3-8B"};
    made.gpus = {"H100-SXM", "H200-SXM"};
    made.policies = {"static", "vllm-v1"};
    made.routers = {"least_requests", "least_tokens", "random", "round_robin"};
    made.platforms = {"none", "bare-metal", "h200-vm"};
    made.platform_terms = {"schedule", "update"};
    return made;
  }();
  return names;
}

Scenario load(std::string_view text, const std::vector<std::string>& overrides, const Names& names) {
  return parse_scenario(text, files().file("s.yaml"), overrides, names);
}

std::vector<std::string> errors(std::string_view text, const std::vector<std::string>& overrides) {
  try {
    load(text, overrides);
    return {};
  } catch (const ScenarioError& error) {
    std::vector<std::string> messages = error.messages();
    const std::string directory = files().directory().string() + "/";
    for (std::string& message : messages)
      for (std::size_t at; (at = message.find(directory)) != std::string::npos;) message.erase(at, directory.size());
    return messages;
  }
}

std::string short_form(std::string_view more) {
  return std::string(R"(dooly: 1
model: meta-llama/Llama-3.1-8B
gpu: H200-SXM
workload: {synthetic: {requests: 10, arrivals: {process: poisson, rate: 20/s}, prompt_tokens: 512, output_tokens: 64}}
)")
      .append(more);
}

std::string two_pools(std::string_view prefill_more, std::string_view decode_more) {
  return std::string(R"(dooly: 1
workload: {synthetic: {requests: 10, arrivals: {process: poisson, rate: 20/s}, prompt_tokens: 512, output_tokens: 64}}
cluster: {nodes: [{name: h, count: 4, gpu: H200-SXM}]}
pools:
  - {name: prefill, role: prefill, model: Qwen/Qwen3-8B)")
      .append(prefill_more)
      .append("}\n  - {name: decode, role: decode, like: prefill")
      .append(decode_more)
      .append("}\n");
}

}  // namespace dooly::scenario::test
