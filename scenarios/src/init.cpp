#include "scenarios/write.hpp"

#include "quantity.hpp"
#include "scenarios/document.hpp"
#include "scenarios/load.hpp"
#include "schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace dooly::scenario {
namespace {

using LongestContext = std::function<std::optional<std::uint64_t>(const std::string& model)>;

constexpr std::string_view kTemplate =
    R"(# A scenario for `dooly run`. `dooly check` says what is wrong with it, `dooly explain` shows every default;
# scenario-reference.md, beside the page that `dooly --help` ends with, describes every key.
dooly: 1

# What serves: a model of `dooly list models` (or ./path/to/config.json) on GPUs of `dooly list gpus`.
model: meta-llama/Llama-3.1-8B
gpu: H200-SXM
tp: 1                # GPUs of one replica
replicas: 2          # engine instances behind one router

# vLLM's arguments by vLLM's names; what is not here has the default of `vllm serve`.
engine:
  max_num_seqs: 1024
  max_num_batched_tokens: 8192
  # gpu_memory_utilization: 0.92
  # enable_prefix_caching: true

# scheduler: vllm-v1           # or {plugin: ./libmine.so, policy: mine, options: {alpha: 0.3}}
# router: least_requests       # `dooly list routers`

# What arrives. Instead of `synthetic`: `trace` (a file of `dooly list formats`) or `sessions` (conversations).
workload:
  synthetic:
    requests: 2000
    arrivals: {process: poisson, rate: 20/s}      # gamma, constant, bursts, closed_loop, replay, at_once
    prompt_tokens: {lognormal: {mean: 1155, p99: 4000, max: 8192}}
    output_tokens: {lognormal: {mean: 211, p99: 900, max: 2048}}
  slo: {ttft: 500ms, tpot: 50ms}                  # what counts towards goodput

seed: 1
)";

/// A chat-like load; lengths shrink in proportion where prompt and output would not fit `longest` tokens together.
std::string workload_text(std::uint64_t longest) {
  constexpr std::uint64_t kPrompt = 8192, kOutput = 2048;
  const std::uint64_t room = std::clamp<std::uint64_t>(longest, 2, kPrompt + kOutput);
  const auto scaled = [room](std::uint64_t tokens) {
    return std::max<std::uint64_t>(1, tokens * room / (kPrompt + kOutput));
  };
  return fmt::format(
      R"(
# What arrives: make it yours.
workload:
  synthetic:
    requests: 2000
    arrivals: {{process: poisson, rate: 10/s}}
    prompt_tokens: {{lognormal: {{mean: {}, p99: {}, max: {}}}}}
    output_tokens: {{lognormal: {{mean: {}, p99: {}, max: {}}}}}
  slo: {{ttft: 500ms, tpot: 50ms}}
)",
      scaled(1155), scaled(4000), scaled(kPrompt), scaled(211), scaled(900), scaled(kOutput));
}

/// How a flag of `vllm serve` is understood.
enum class Use {
  kEngine,      ///< an engine argument of the same name
  kEngineBool,  ///< the same, as --flag, --no-flag, --flag true
  kSizes,       ///< a list of numbers
  kEager,       ///< --enforce-eager
  kTp,
  kDtype,
  kIgnored,      ///< says nothing about time: host, port …; takes a value
  kIgnoredFlag,  ///< the same, without a value
  kOnlyOne,      ///< a parallel degree that must be 1
};

const std::map<std::string_view, Use>& uses() {
  static const std::map<std::string_view, Use> table = {
      {"async-scheduling", Use::kEngineBool},
      {"attention-backend", Use::kEngine},
      {"block-size", Use::kEngine},
      {"cuda-graph-sizes", Use::kSizes},
      {"cudagraph-capture-sizes", Use::kSizes},
      {"data-parallel-size", Use::kOnlyOne},
      {"disable-log-requests", Use::kIgnoredFlag},
      {"disable-log-stats", Use::kIgnoredFlag},
      {"disable-uvicorn-access-log", Use::kIgnoredFlag},
      {"dtype", Use::kDtype},
      {"enable-chunked-prefill", Use::kEngineBool},
      {"enable-prefix-caching", Use::kEngineBool},
      {"enforce-eager", Use::kEager},
      {"gpu-memory-utilization", Use::kEngine},
      {"host", Use::kIgnored},
      {"kv-cache-dtype", Use::kEngine},
      {"long-prefill-token-threshold", Use::kEngine},
      {"max-model-len", Use::kEngine},
      {"max-num-batched-tokens", Use::kEngine},
      {"max-num-seqs", Use::kEngine},
      {"num-gpu-blocks-override", Use::kEngine},
      {"pipeline-parallel-size", Use::kOnlyOne},
      {"port", Use::kIgnored},
      {"scheduling-policy", Use::kEngine},
      {"seed", Use::kIgnored},
      {"served-model-name", Use::kIgnored},
      {"tensor-parallel-size", Use::kTp},
      {"trust-remote-code", Use::kIgnoredFlag},
      {"watermark", Use::kEngine},
  };
  return table;
}

std::string_view long_name(std::string_view flag) {
  if (flag == "tp") return "tensor-parallel-size";
  if (flag == "pp") return "pipeline-parallel-size";
  if (flag == "dp") return "data-parallel-size";
  return flag;
}

/// Words of a shell command; quotes group, backslashes and line ends outside of them do not matter.
std::vector<std::string> words_of(std::string_view command) {
  std::vector<std::string> words;
  std::string word;
  bool is_open = false;
  char quote = 0;
  const auto close = [&] {
    if (is_open) words.push_back(std::exchange(word, {}));
    is_open = false;
  };
  for (const char c : command) {
    if (quote) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      is_open = true;
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\\') {
      close();
    } else {
      word += c;
      is_open = true;
    }
  }
  close();
  return words;
}

/// Translates the words of a `vllm serve` command.
class VllmCommand {
 public:
  explicit VllmCommand(std::string_view command) : words_(words_of(command)) {}

  /// `longest_context` may be empty.
  std::string translate(const LongestContext& longest_context) {
    skip_program();
    while (at_ < words_.size()) take_word();
    if (model_.empty()) problems_.push_back("no model: expected vllm serve MODEL --flags…");
    if (!problems_.empty()) throw ScenarioError(problems_);
    return written(longest(longest_context));
  }

 private:
  void skip_program() {
    if (at_ < words_.size() && words_[at_] == "vllm") ++at_;
    if (at_ < words_.size() && words_[at_] == "serve") ++at_;
  }

  void take_word() {
    const std::string word = words_[at_++];
    if (!word.starts_with("-")) {
      if (!model_.empty()) problems_.push_back("unexpected word '" + word + "'");
      if (model_.empty()) model_ = word;
      return;
    }
    std::string name = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    }
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == "model") return set_model(value);
    take_flag(word, std::string(long_name(name)), std::move(value));
  }

  void set_model(const std::optional<std::string>& value) {
    if (const auto taken = value ? value : next_value()) model_ = *taken;
  }

  void take_flag(const std::string& word, const std::string& name, std::optional<std::string> value) {
    auto use = uses().find(name);
    const bool is_negated = use == uses().end() && name.starts_with("no-");
    if (is_negated) use = uses().find(std::string_view(name).substr(3));
    const bool takes_no = use != uses().end() && use->second == Use::kEngineBool;
    if (use == uses().end() || (is_negated && !takes_no)) return refuse_unknown(word, value.has_value());
    std::string key(use->first);
    std::replace(key.begin(), key.end(), '-', '_');
    switch (use->second) {
      case Use::kIgnoredFlag: return;
      case Use::kEager: engine_.emplace_back("cudagraph_capture_sizes", "[]"); return;
      case Use::kEngineBool: engine_.emplace_back(key, is_negated ? "false" : value.value_or("true")); return;
      case Use::kSizes: return take_sizes(word, value);
      default: break;
    }
    if (!value) value = next_value();
    if (!value) {
      problems_.push_back("'" + word + "' needs a value");
    } else if (use->second == Use::kEngine) {
      engine_.emplace_back(key, *value);
    } else if (use->second == Use::kTp) {
      tp_ = *value;
    } else if (use->second == Use::kDtype) {
      dtype_ = *value;
    } else if (use->second == Use::kOnlyOne && *value != "1") {
      problems_.push_back("'" + word + " " + *value + "' is not built yet in this version; allowed: 1");
    }
  }

  void take_sizes(const std::string& word, const std::optional<std::string>& given) {
    std::string sizes = given.value_or("");
    while (auto next = next_value()) sizes += (sizes.empty() ? "" : ", ") + *next;
    if (sizes.empty()) problems_.push_back("'" + word + "' needs a value");
    engine_.emplace_back("cudagraph_capture_sizes", "[" + sizes + "]");
  }

  void refuse_unknown(const std::string& word, bool has_value) {
    if (!has_value) next_value();  // presumably its own
    std::vector<std::string_view> known;
    for (const auto& [name, use] : uses()) known.push_back(name);
    const std::string bare = word.substr(std::min(word.find_first_not_of('-'), word.size()));
    const std::string_view near = nearest(bare.substr(0, bare.find('=')), known);
    problems_.push_back("unknown flag '" + word + "'" +
                        (near.empty() ? "" : ", did you mean '--" + std::string(near) + "'"));
  }

  std::optional<std::string> next_value() {
    if (at_ >= words_.size() || words_[at_].starts_with("--")) return {};
    return words_[at_++];
  }

  std::uint64_t longest(const LongestContext& longest_context) const {
    constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
    for (const auto& [key, value] : engine_) {
      const auto tokens = key == "max_model_len" ? parse_integer(value) : std::nullopt;
      if (tokens && *tokens > 0) return static_cast<std::uint64_t>(*tokens);
    }
    return longest_context ? longest_context(model_).value_or(kUnknown) : kUnknown;
  }

  std::string written(std::uint64_t longest) const {
    std::string text = "# From: vllm serve " + model_ + " …\ndooly: 1\n";
    if (dtype_.empty()) {
      text += "model: " + model_ + "\n";
    } else {
      text += "model: {config: " + model_ + ", dtype: " + dtype_ + "}\n";
    }
    text += "gpu: H200-SXM        # `vllm serve` does not say; see `dooly list gpus`\ntp: " + tp_ + "\nreplicas: 1\n";
    if (!engine_.empty()) text += "engine:\n";
    for (const auto& [key, value] : engine_) text += "  " + key + ": " + value + "\n";
    return text + workload_text(longest);
  }

  std::vector<std::string> words_;
  std::size_t at_ = 0;
  std::string model_;
  std::string dtype_;
  std::string tp_ = "1";
  std::vector<std::pair<std::string, std::string>> engine_;
  std::vector<std::string> problems_;
};

}  // namespace

std::string init_template() { return std::string(kTemplate); }

std::string init_from_vllm(std::string_view command, const Names& names, const LongestContext& longest_context) {
  const std::string text = VllmCommand(command).translate(longest_context);
  parse_scenario(text, "vllm serve", {}, names);  // a bad value is found here, under the key's name
  return text;
}

}  // namespace dooly::scenario
