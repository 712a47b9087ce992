#include "workload/workload.hpp"

#include "file_hash.hpp"
#include "loops.hpp"
#include "part.hpp"
#include "servegen_part.hpp"
#include "sessions_part.hpp"
#include "shapes.hpp"
#include "workload/trace_reader.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::workload {
namespace {

using scenario::Arrivals;

TraceRows::Options trace_options(const scenario::TraceSpec& trace) {
  TraceRows::Options options;
  options.path = trace.path;
  options.format = trace.format;
  options.limit = trace.limit.value_or(TraceRows::kNoLimit);
  options.loop = trace.loop;
  options.speedup = trace.speedup;
  options.truncate = trace.too_long == scenario::TraceSpec::TooLong::kTruncate;
  options.keep_times = !trace.arrivals;
  return options;
}

std::unique_ptr<Part> timed(std::unique_ptr<Shapes> shapes, const Arrivals& arrivals, std::optional<double> duration_s,
                            const PartContext& context) {
  if (const auto* loop = std::get_if<Arrivals::ClosedLoop>(&arrivals.process))
    return std::make_unique<ClosedLoop>(std::move(shapes), *loop, duration_s, context);
  return std::make_unique<OpenLoop>(std::move(shapes), arrivals, duration_s, context);
}

std::unique_ptr<Part> make_part(const scenario::TraceSpec& trace, const PartContext& context) {
  if (!(trace.speedup >= 1e-6 && trace.speedup <= 1e6))
    throw WorkloadError(fmt::format("{}: speedup must be from 1e-6 to 1e6, got {}", context.name, trace.speedup));
  if (trace.loop < 1 || trace.loop > (1U << 24))
    throw WorkloadError(fmt::format("{}: loop must be from 1 to {}, got {}", context.name, 1U << 24, trace.loop));
  if (trace.limit && *trace.limit == 0) throw WorkloadError(context.name + ": limit must be at least 1");
  if (trace.format == "servegen") {
    if (trace.arrivals) throw WorkloadError(context.name + ": format servegen has its own arrivals");
    return std::make_unique<ServegenPart>(trace, context);
  }
  if (!trace.arrivals) return std::make_unique<TracePart>(trace_options(trace), trace.duration_s, context);
  return timed(std::make_unique<TraceShapes>(trace_options(trace), context), *trace.arrivals, trace.duration_s,
               context);
}

void need_an_end(bool has_count, std::optional<double> duration_s, const Arrivals& arrivals, const std::string& name) {
  const bool ends_by_time = duration_s && !std::holds_alternative<Arrivals::AtOnce>(arrivals.process);
  if (!has_count && !ends_by_time && !std::holds_alternative<Arrivals::Replay>(arrivals.process))
    throw WorkloadError(name + ": never ends: give a number of requests, or a duration");
}

std::unique_ptr<Part> make_part(const scenario::SyntheticSpec& synthetic, const PartContext& context) {
  need_an_end(synthetic.requests.has_value(), synthetic.duration_s, synthetic.arrivals, context.name);
  return timed(std::make_unique<SyntheticShapes>(synthetic, context), synthetic.arrivals, synthetic.duration_s,
               context);
}

std::unique_ptr<Part> make_part(const scenario::SessionsSpec& sessions, const PartContext& context) {
  need_an_end(sessions.sessions.has_value(), sessions.duration_s, sessions.arrivals, context.name);
  return std::make_unique<SessionsPart>(sessions, context);
}

/// Merges the parts and numbers the requests.
class MergedWorkload : public RequestSource {
 public:
  MergedWorkload(const std::vector<scenario::WorkloadSpec>& specs, std::uint64_t seed,
                 const MaxModelLen& max_model_len) {
    if (specs.empty() || specs.size() > 255)
      throw WorkloadError(fmt::format("want 1 to 255 workloads, got {}", specs.size()));
    for (const scenario::WorkloadSpec& spec : specs) {
      if (spec.priority < -2147483648LL || spec.priority > 2147483647LL)
        throw WorkloadError(fmt::format("{}: priority {} does not fit into 32 bits", spec.name, spec.priority));
      const PartContext context{.seed = seed,
                                .name = spec.name,
                                .default_class = spec.default_class(),
                                .class_is_forced = spec.class_name.has_value(),
                                .priority = static_cast<std::int32_t>(spec.priority),
                                .numbers = {specs.size(), parts_.size()},
                                .classes = &classes_,
                                .max_model_len = max_model_len};
      parts_.push_back(std::visit([&](const auto& source) { return make_part(source, context); }, spec.source));
    }
    own_ids_ = parts_.size() == 1 && parts_[0]->has_own_ids();
    find_first();
  }

  double next_arrival_s() override { return parts_[first_]->next_arrival_s(); }

  void take(Request& into) override {
    Part& part = *parts_[first_];
    part.take(into);
    if (!own_ids_) into.id = taken_;
    ++taken_;
    if (into.ticket != kNoTicket)
      into.ticket = Ticket{static_cast<std::uint64_t>(first_) << 56 | static_cast<std::uint64_t>(into.ticket)};
    find_first();
  }

  void finished(Ticket ticket, double client_time_s, Outcome outcome) override {
    const auto value = static_cast<std::uint64_t>(ticket);
    parts_[value >> 56]->finished(value & 0x00FFFFFFFFFFFFFFULL, client_time_s, outcome);
    find_first();
  }

  bool exhausted() override {
    return std::all_of(parts_.begin(), parts_.end(), [](const auto& part) { return part->exhausted(); });
  }

  std::span<const std::string> classes() const override { return classes_.names(); }

  std::uint64_t expected_requests() const override {
    std::uint64_t sum = 0;
    for (const auto& part : parts_) {
      if (part->expected_requests() == 0) return 0;
      sum += part->expected_requests();
    }
    return sum;
  }

  TraceColumns columns() const override {
    TraceColumns columns;
    for (const auto& part : parts_) columns = columns | part->columns();
    columns.id = columns.request_class = true;
    return columns;
  }

  std::vector<InputFile> inputs() const override {
    std::vector<InputFile> inputs;
    for (const auto& part : parts_) {
      for (const auto& path : part->files()) inputs.push_back({path.string(), sha256_of_file(path)});
    }
    return inputs;
  }

 private:
  /// Ties go to the workload that stands first in the scenario.
  void find_first() {
    if (parts_.size() == 1) return;
    first_ = 0;
    for (std::size_t i = 1; i < parts_.size(); ++i) {
      if (parts_[i]->next_arrival_s() < parts_[first_]->next_arrival_s()) first_ = i;
    }
  }

  ClassTable classes_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::size_t first_ = 0;
  std::uint64_t taken_ = 0;
  bool own_ids_ = false;
};

}  // namespace

std::unique_ptr<RequestSource> make_workload(const std::vector<scenario::WorkloadSpec>& specs, std::uint64_t seed,
                                             const MaxModelLen& max_model_len) {
  return std::make_unique<MergedWorkload>(specs, seed, max_model_len);
}

std::unique_ptr<RequestSource> open_trace_workload(const std::filesystem::path& path, const std::string& format) {
  scenario::TraceSpec trace;
  trace.path = path;
  trace.format = format.empty() ? detect_format(path) : format;
  if (trace.format == "sharegpt") trace.arrivals = Arrivals{Arrivals::AtOnce{}};
  if (trace.format == "servegen")
    throw WorkloadError(path.string() + ": format servegen holds statistics of clients, not requests: use a scenario");
  scenario::WorkloadSpec spec;
  spec.name = "default";
  spec.source = trace;
  return make_workload({spec}, 0);
}

}  // namespace dooly::workload
