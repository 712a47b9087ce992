#include "formats.hpp"

#include "silicon_models.hpp"
#include "silicon_rows.hpp"

#include "validate/traffic.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace dooly::validate {
namespace {

/// The tool's benchmark (AIConfigurator, src/aiconfigurator/eval): ten requests a client, all of one length, prompts
/// of random text, after a warm-up that ends before the first request is counted; so the clients begin at once.
constexpr std::uint32_t kRequestsPerClient = 10;
/// The tool's engine settings for vLLM (AIConfigurator, src/aiconfigurator/generator/rule_plugin/vllm.rule).
constexpr std::uint32_t kLeastSequences = 512;
constexpr std::uint32_t kSpareTokens = 1500;

const std::string& option(const Validation& validation, const char* key, const std::string& otherwise) {
  const auto found = validation.options.find(key);
  return found == validation.options.end() ? otherwise : found->second;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) words.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

const std::map<std::string, std::string>& gpus() {
  static const std::map<std::string, std::string> kGpus{
      {"a100_sxm", "A100-SXM-80GB"}, {"h100_sxm", "H100-SXM"}, {"h200_sxm", "H200-SXM"}};
  return kGpus;
}

/// 0.12.0: 12. Not told: the newest before the first that is told.
std::uint32_t minor_version(const std::string& version) {
  constexpr std::uint32_t kNotTold = 11;
  const std::size_t dot = version.find('.');
  std::uint32_t minor = 0;
  if (dot == std::string::npos) return kNotTold;
  const auto [end, error] = std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return error == std::errc() ? minor : kNotTold;
}

/// What of the scenario the row decides: hardware, layout, and the engine as the tool starts it, with the defaults of
/// its version (asynchronous scheduling from 0.14 on, 0.92 of the memory from 0.19 on).
std::vector<std::string> overrides_of(const SiliconRow& row, const std::filesystem::path& config) {
  const std::uint32_t minor = minor_version(row.engine_version);
  const std::uint32_t sequences = row.clients < kLeastSequences ? kLeastSequences : 2 * row.clients;
  return {"model=" + config.string(),
          "gpu=" + gpus().at(row.system),
          fmt::format("tp={}", row.tensor_parallel),
          fmt::format("pools.main.parallel.ep={}", row.expert_parallel),
          fmt::format("engine.max_num_seqs={}", sequences),
          fmt::format("engine.max_num_batched_tokens={}", sequences + row.prompt + kSpareTokens),
          fmt::format("engine.max_model_len={}", row.prompt + row.output + kSpareTokens),
          fmt::format("engine.async_scheduling={}", minor >= 14),
          fmt::format("engine.gpu_memory_utilization={}", minor >= 19 ? "0.92" : "0.9")};
}

Traffic traffic_of(const SiliconRow& row) {
  Traffic traffic{.clients = row.clients};
  traffic.requests.assign(std::size_t{row.clients} * kRequestsPerClient,
                          {.sent_s = 0, .prompt = row.prompt, .output = row.output});
  return traffic;
}

struct Means {
  double ttft_s = 0, tpot_s = 0;
};

Means means_of(const std::vector<SimulatedRequest>& requests, const SiliconRow& row) {
  Means means;
  for (const SimulatedRequest& request : requests) {
    if (!request.completed) throw ValidationError(row.id + ": a request did not complete in the simulation");
    means.ttft_s += request.ttft_s();
    means.tpot_s += request.tpot_s();
  }
  means.ttft_s /= static_cast<double>(requests.size());
  means.tpot_s /= static_cast<double>(requests.size());
  return means;
}

/// Rows that cannot be compared, by the reason.
class LeftOut {
 public:
  void add(const std::string& why) { ++counts_[why]; }
  void tell(Comparison& comparison) const {
    for (const auto& [why, count] : counts_)
      comparison.notes.push_back(fmt::format("{} row{} left out: {}", count, count == 1 ? "" : "s", why));
  }

 private:
  std::map<std::string, std::uint32_t> counts_;
};

/// Empty: it can be compared.
std::string why_not(const SiliconRow& row, const SiliconModels::Entry& entry) {
  if (!gpus().contains(row.system)) return fmt::format("no tables of {}", row.system);
  if (entry.config.empty()) return fmt::format("no configuration of {}", row.model);
  if (row.pipeline_parallel > 1) return "pipeline parallel, which is not built yet";
  if (row.data_parallel(entry.model.moe.has_value()) > 1) return "data-parallel attention, which is not built yet";
  if (entry.model.moe && row.expert_parallel > 1 && row.expert_tensor_parallel > 1)
    return "experts that are both spread and split, which vLLM does not do";
  return {};
}

void add_row(const SiliconRow& row, const Means& found, Comparison& comparison) {
  const double measured = row.throughput(row.ttft_s, row.tpot_s);
  const double predicted = row.throughput(found.ttft_s, found.tpot_s);
  const std::string own =
      fmt::format("{}@{}-tp{}", row.model.substr(row.model.find('/') + 1), row.system, row.tensor_parallel) +
      (row.expert_parallel > 1 ? "-ep" : "");
  for (const std::string& group : {std::string("rows"), own}) {
    const Plot plot = group == "rows" ? Plot::kScatter : Plot::kNone;
    comparison.of(group + ".tpot", Unit::kSeconds, plot).add(row.tpot_s, found.tpot_s);
    comparison.of(group + ".throughput", Unit::kPerSecond, plot).add(measured, predicted);
    comparison.of(group + ".ttft", Unit::kSeconds, plot).add(row.ttft_s, found.ttft_s);
  }
  comparison.notes.push_back(fmt::format(
      "{} {}: tpot {:.2f} ms, measured {:.2f} ({:+.1f} %); throughput {:+.1f} %; ttft {:.0f} ms, measured {:.0f} "
      "({:+.0f} %)",
      row.model, row.shape(), 1e3 * found.tpot_s, 1e3 * row.tpot_s, 100 * (found.tpot_s / row.tpot_s - 1),
      100 * (predicted / measured - 1), 1e3 * found.ttft_s, 1e3 * row.ttft_s, 100 * (found.ttft_s / row.ttft_s - 1)));
}

Comparison compare(const Validation& validation, Workbench& workbench) {
  const std::set<std::string> models = words_of(option(validation, "models", ""));
  const std::set<std::string> systems = words_of(option(validation, "systems", ""));
  // Beside groundtruth/aiconfigurator/FILE stands models/.
  SiliconModels configs(validation.measurement.parent_path().parent_path().parent_path() / "models");
  Comparison comparison;
  LeftOut left_out;
  std::uint32_t without_clients = 0;
  for (const SiliconRow& row : read_silicon_rows(validation.measurement, option(validation, "backend", "vllm"))) {
    if (!models.empty() && !models.contains(row.model)) continue;
    if (!systems.empty() && !systems.contains(row.system)) continue;
    const SiliconModels::Entry& entry = configs.of(row);
    if (const std::string why = why_not(row, entry); !why.empty()) {
      left_out.add(why);
      continue;
    }
    const scenario::Scenario scenario = workbench.scenario(validation, overrides_of(row, entry.config));
    add_row(row, means_of(simulate(scenario, workbench.deploy(validation, scenario), traffic_of(row)), row),
            comparison);
    if (!row.has_clients) ++without_clients;
  }
  if (without_clients > 0)
    comparison.notes.push_back(fmt::format(
        "{} rows tell a batch size and no number of clients: taken as shared by the workers that fill 8 GPUs",
        without_clients));
  left_out.tell(comparison);
  return comparison;
}

}  // namespace

const MeasurementFormat& aiconfigurator_silicon_format() {
  static constexpr std::array kChecks{Named{"rows", "TTFT, TPOT and throughput of every operating point"}};
  static constexpr std::array kOptions{Named{"backend", "engine whose rows are compared, default vllm"},
                                       Named{"models", "hub ids of those compared, default all"},
                                       Named{"systems", "systems of those compared, default all"}};
  static constexpr std::string_view kRows = kChecks[0].name;
  static constexpr std::array kQuantities{Quantity{"rows.tpot", kRows},          Quantity{"rows.throughput", kRows},
                                          Quantity{"rows.ttft", kRows},          Quantity{"*@*-tp*.tpot", kRows},
                                          Quantity{"*@*-tp*.throughput", kRows}, Quantity{"*@*-tp*.ttft", kRows}};
  static const MeasurementFormat format{"aiconfigurator-silicon",
                                        "AIConfigurator's silicon_sample.csv: mean TTFT and TPOT of an engine under a "
                                        "closed loop, a row each",
                                        kChecks,
                                        kOptions,
                                        kQuantities,
                                        compare};
  return format;
}

}  // namespace dooly::validate
