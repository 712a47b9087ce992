#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// h100-80gb-pcap is an H100 under a power cap.
constexpr std::string_view kCapped = "-pcap";

std::string device_of(std::string_view hardware) {
  std::string word(hardware);
  if (word.ends_with(kCapped)) word.resize(word.size() - kCapped.size());
  if (word == "a100-80gb") return "A100-SXM-80GB";
  if (word == "h100-80gb") return "H100-SXM";
  return word;
}

Key iteration_key(SampleCollector& collector, const std::string& model, const std::string& phase, std::uint64_t tp) {
  return collector.key(own_key("iteration", {"float16"}, {tp}, "batch", {{"model", model}, {"phase", phase}}, "vllm"));
}

}  // namespace

bool read_splitwise(const ProfileFile& file, ImportContext& context) {
  if (!file.stem.starts_with("perf_model")) {
    context.skip(file.shown, "not one of the tables that are known");
    return false;
  }
  CsvTable table(file.path);
  SampleCollector& collector = context.collector;
  collector.begin_file(file.shown);
  const auto model = table.column("model"), hardware = table.column("hardware");
  const std::array counts{table.column("prompt_size"), table.column("batch_size"), table.column("token_size"),
                          table.column("tensor_parallel")};
  const std::array times{table.column("prompt_time"), table.column("token_time"), table.column("e2e_time")};
  context.note("whole iterations, no operators: a decode step stands at the middle of its generation's context");
  std::array<std::uint64_t, 4> n{};
  std::array<double, 3> t{};
  while (table.next()) {
    collector.line(table.line());
    bool good = true;
    for (std::size_t i = 0; i < n.size(); ++i) {
      const auto value = whole_number(table.cell(counts[i]));
      good = good && value;
      n[i] = value.value_or(0);
    }
    for (std::size_t i = 0; i < t.size(); ++i) {
      const auto value = scaled_number(table.cell(times[i]), kMilliseconds);
      good = good && value;
      t[i] = value.value_or(0);
    }
    if (!good) {
      collector.drop("not a number", table.cell(times[0]));
      continue;
    }
    const bool capped = table.cell(hardware).ends_with(kCapped);
    collector.environment(environment_of(device_of(table.cell(hardware)), context.options,
                                         capped ? "splitwise, power capped" : "splitwise", file.path.string()));
    const std::string name(table.cell(model));
    collector.model(name);
    collector.add(iteration_key(collector, name, "prompt", n[3]), prefill_point(n[1], n[0], 0), single(t[0]));
    if (n[2] > 1)
      collector.add(iteration_key(collector, name, "token", n[3]), decode_point(n[1], n[0] + n[2] / 2), single(t[1]));
    const double sum = t[0] + t[1] * static_cast<double>(n[2] > 0 ? n[2] - 1 : 0);
    if (std::abs(sum - t[2]) > 0.1 * t[2])
      collector.remark("prompt and token times do not add up to e2e_time",
                       fmt::format("{:.1f} ms, e2e {:.1f} ms", sum * 1e3, t[2] * 1e3));
  }
  return true;
}

}  // namespace dooly::import_
