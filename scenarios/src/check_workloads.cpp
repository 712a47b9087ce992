#include "check.hpp"

#include "quantity.hpp"

#include <algorithm>
#include <cmath>

namespace dooly::scenario {
namespace {

constexpr double kZ99 = 2.3263478740408408;          // the standard normal's 99 % point
constexpr double kMostZipfValues = 4'194'304;        // the generator keeps a table

std::string value_text(const Value& value, Dimension dimension) {
  return dimension == Dimension::kNone ? print_number(value.number) : print_quantity(value.number, dimension);
}

}  // namespace

bool has_classes(std::string_view format) { return format == "dooly"; }

bool Checker::has_row_classes() const {
  return std::any_of(scenario_.workloads.begin(), scenario_.workloads.end(), [](const WorkloadSpec& workload) {
    const auto* trace = std::get_if<TraceSpec>(&workload.source);
    return trace && !workload.class_name && has_classes(trace->format);
  });
}

void Checker::check_workload_names() {
  const Value& list = root_["workload"];
  if (list.items.size() < 2) return;
  bool are_all_given = true;
  for (const Value& workload : list.items) {
    if (workload.members.empty() || workload["name"].is_given) continue;
    are_all_given = false;
    refuse(workload["name"], "is required in a list of several");
  }
  if (are_all_given) unique_names(list);
}

void Checker::check_workload(std::size_t index) {
  const Value& value = root_["workload"].items[index];
  const WorkloadSpec& workload = scenario_.workloads[index];
  if (value.members.empty()) return;
  if (const Value& trace = value["trace"]; trace.is_set && !trace.members.empty()) {
    if (const auto* spec = std::get_if<TraceSpec>(&workload.source)) check_trace(trace, *spec);
  }
  if (const Value& synthetic = value["synthetic"]; synthetic.is_set && !synthetic.members.empty()) {
    check_arrivals(synthetic["arrivals"]);
    check_lengths(synthetic["prompt_tokens"]);
    check_lengths(synthetic["output_tokens"]);
    if (const auto* spec = std::get_if<SyntheticSpec>(&workload.source))
      check_end(synthetic, "requests", spec->arrivals);
  }
  if (const Value& sessions = value["sessions"]; sessions.is_set && !sessions.members.empty()) {
    check_arrivals(sessions["arrivals"]);
    check_times(sessions["think_time"]);
    for (const char* key : {"turns", "first_prompt", "turn_prompt", "output_tokens"}) check_lengths(sessions[key]);
    if (const auto* spec = std::get_if<SessionsSpec>(&workload.source)) check_end(sessions, "sessions", spec->arrivals);
  }
  check_slo(value["slo"], workload);
}

void Checker::check_trace(const Value& value, const TraceSpec& trace) {
  const Value& arrivals = value["arrivals"];
  check_arrivals(arrivals);
  if (!value["format"].is_valid) return;
  if (trace.format == "sharegpt" && !arrivals.is_given)
    refuse(arrivals, "is required: format sharegpt has no arrival times");
  if (trace.format == "servegen") {
    if (arrivals.is_given) refuse(arrivals, "has no meaning with format: servegen, whose clients have their own rates");
    if (value["loop"].is_valid && trace.loop != 1)
      refuse(value["loop"], "must be 1 with format: servegen, got " + std::to_string(trace.loop));
  }
  if (arrivals.is_given && value["speedup"].is_given && trace.speedup != 1)
    refuse(value["speedup"], "has no meaning beside 'arrivals', which replaces the file's times");
}

void Checker::check_end(const Value& value, std::string_view count_key, const Arrivals& arrivals) {
  const Value& count = value[count_key];
  const Value& duration = value["duration"];
  if (!count.is_valid || !duration.is_valid || !value["arrivals"]["process"].is_valid) return;
  if (std::holds_alternative<Arrivals::AtOnce>(arrivals.process)) {
    if (!count.is_set) refuse(count, "is required with process: at_once");
  } else if (!count.is_set && !duration.is_set && !std::holds_alternative<Arrivals::Replay>(arrivals.process)) {
    refuse(count, "is required (or 'duration'): something must end the arrivals");
  }
}

void Checker::check_arrivals(const Value& value) {
  if (value.is_set && !value.members.empty() && value["process"].is_valid) check_times(value["think_time"]);
}

void Checker::check_lengths(const Value& value) {
  if (!value.is_set || value.members.empty()) return;
  const Value& uniform = value["uniform"];
  if (uniform.is_set && uniform.is_valid && uniform.items.size() == 2 &&
      uniform.items[0].number > uniform.items[1].number)
    refuse(uniform, "must be [least, most], got [" + value_text(uniform.items[0], Dimension::kNone) + ", " +
                        value_text(uniform.items[1], Dimension::kNone) + "]");
  const Value& zipf = value["zipf"];
  if (zipf.is_set && zipf["min"].is_valid && zipf["max"].is_valid) {
    const double values = zipf["max"].number - zipf["min"].number + 1;
    if (values < 1) refuse(zipf["max"], "must be at least min, got " + value_text(zipf["max"], Dimension::kNone));
    if (values > kMostZipfValues)
      refuse(zipf["max"], "must be less than min + 4194304, got " + value_text(zipf["max"], Dimension::kNone));
  }
  check_lognormal(value["lognormal"]);
}

void Checker::check_times(const Value& value) {
  if (!value.is_set || value.members.empty()) return;
  const Value& uniform = value["uniform"];
  if (uniform.is_set && uniform.is_valid && uniform.items.size() == 2 &&
      uniform.items[0].number > uniform.items[1].number)
    refuse(uniform, "must be [least, most], got [" + value_text(uniform.items[0], Dimension::kTime) + ", " +
                        value_text(uniform.items[1], Dimension::kTime) + "]");
  check_lognormal(value["lognormal"]);
}

void Checker::check_lognormal(const Value& value) {
  if (!value.is_set || value.members.empty()) return;
  const Value& mean = value["mean"];
  const Value& p99 = value["p99"];
  const Value& max = value["max"];
  if (!mean.is_valid || !p99.is_valid) return;
  const double log_ratio = std::log(p99.number / mean.number);
  const double inside = kZ99 * kZ99 - 2 * log_ratio;
  if (log_ratio < 0 || inside < 1e-9) {
    refuse(p99, "no lognormal law has this mean and 99th percentile: p99 / mean must be from 1 to 14.96, got " +
                    print_number(p99.number / mean.number));
    return;
  }
  const double sigma = kZ99 - std::sqrt(inside);
  const double median = mean.number * std::exp(-sigma * sigma / 2);
  if (max.is_valid && max.number < median && max.number != mean.number)
    refuse(max, "must be at least the law's median " + print_number(std::ceil(median * 1000) / 1000) + ", got " +
                    print_number(max.number));
}

void Checker::check_slo(const Value& value, const WorkloadSpec& workload) {
  if (!value.is_set || value.members.empty() || !value.is_valid) return;
  const auto* trace = std::get_if<TraceSpec>(&workload.source);
  if (trace && !workload.class_name && has_classes(trace->format)) return;
  for (const auto& [name, limits] : value.members) {
    if (limits.members.empty() || name == workload.default_class()) continue;
    refuse(limits, "no request of this workload is of class '" + name + "'; allowed: " + workload.default_class());
  }
}

/// vLLM refuses a priority that its scheduler would not look at. A plug-in may look at it whatever the engine does.
void Checker::check_priority(std::size_t index) {
  const Value& value = root_["workload"].items[index];
  const WorkloadSpec& workload = scenario_.workloads[index];
  if (workload.priority == 0 || !root_["pools"].is_valid) return;
  const auto* trace = std::get_if<TraceSpec>(&workload.source);
  const bool is_any_class = trace && !workload.class_name && has_classes(trace->format);
  for (const Pool& pool : scenario_.pools) {
    const bool is_asked =
        is_any_class || pool.serves.empty() ||
        std::find(pool.serves.begin(), pool.serves.end(), workload.default_class()) != pool.serves.end();
    const bool knows =
        pool.scheduler.plugin || pool.engine.scheduling_policy == EngineConfig::SchedulingPolicy::kPriority;
    if (is_asked && knows) return;
  }
  for (const char* source : {"trace", "synthetic", "sessions"}) {
    const Value& priority = value[source]["priority"];
    if (!priority.is_valid || !priority.is_given) continue;
    refuse(priority, "is not looked at: set scheduling_policy: priority for the pool's engine (it is fcfs), got " +
                         std::to_string(workload.priority));
  }
}

void Checker::check_slo_conflicts() {
  const Value& list = root_["workload"];
  for (std::size_t i = 0; i < scenario_.workloads.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const WorkloadSpec& one = scenario_.workloads[j];
      const WorkloadSpec& other = scenario_.workloads[i];
      if (one.default_class() != other.default_class()) continue;
      if (one.slo == other.slo && one.class_slo == other.class_slo) continue;
      refuse(list.items[i]["slo"], "differs from that of workload '" + one.name + "', which has the same class '" +
                                       other.default_class() + "'");
    }
  }
}

}  // namespace dooly::scenario
