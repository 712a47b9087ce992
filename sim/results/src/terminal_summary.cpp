#include "results/terminal_summary.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "results/pool_figures.hpp"

namespace dooly::results {
namespace {

enum class Paint { kPlain, kBold, kDim, kGreen, kYellow, kRed };

/// Collects the text, with or without colours.
class Page {
 public:
  explicit Page(bool colours) : colours_(colours) {}
  std::string paint(Paint paint, std::string_view text) const {
    static constexpr const char* kCodes[] = {"", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[31m"};
    if (!colours_ || paint == Paint::kPlain) return std::string(text);
    return fmt::format("{}{}\x1b[0m", kCodes[static_cast<int>(paint)], text);
  }
  void line(std::string_view label, std::string_view text) {
    text_ += paint(Paint::kBold, fmt::format("{:<12}", label));
    text_ += text;
    text_ += '\n';
  }
  void raw(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  bool colours_;
  std::string text_;
};

/// Three significant digits at least, thousands separated: 0.123, 12.3, 1,234
std::string compact(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  if (value >= 999.5) {
    std::string digits = fmt::format("{:.0f}", value);
    for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
      digits.insert(static_cast<std::size_t>(at), 1, ',');
    return digits;
  }
  return fmt::format("{:.3g}", value);
}
std::string compact(std::uint64_t value) {
  return value < 1000 ? std::to_string(value) : compact(static_cast<double>(value));
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", compact(count), noun, count == 1 ? "" : "s");
}

/// Of nearly all so many decimals that it cannot be taken for all: 99.97 %, at most five, cut off there.
std::string almost_all(double share) {
  const double missing = 100 * (1 - share);
  constexpr int kMost = 5;
  const int decimals = -static_cast<int>(std::floor(std::log10(missing)));
  if (decimals > kMost) return "99.99999 %";
  return fmt::format("{:.{}f} %", 100 - missing, decimals);
}

std::string percent(double share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  if (share < 1 && share > 0.999) return almost_all(share);
  return fmt::format("{:.3g} %", 100 * share);
}

std::string duration(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 0.001) return compact(seconds * 1e6) + " us";
  if (seconds < 1) return compact(seconds * 1e3) + " ms";
  if (seconds < 120) return compact(seconds) + " s";
  if (seconds < 7200) return fmt::format("{:.1f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string bytes(double count) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  std::size_t unit = 0;
  for (; count >= 999.5 && unit + 1 < std::size(kUnits); ++unit) count /= 1000;
  return compact(count) + " " + kUnits[unit];
}

void add_outcome(Page& page, const Summary& summary) {
  const RequestCounts& requests = summary.all.requests;
  std::string text = compact(requests.submitted) + " submitted, ";
  const bool all = requests.completed == requests.submitted;
  text += page.paint(all ? Paint::kGreen : Paint::kYellow,
                     all ? "all completed" : compact(requests.completed) + " completed");
  for (const auto& [count, word] : {std::pair{requests.rejected, "rejected"}, std::pair{requests.failed, "failed"},
                                    std::pair{requests.unfinished, "unfinished"}}) {
    if (count > 0) text += fmt::format(", {}", page.paint(Paint::kRed, fmt::format("{} {}", compact(count), word)));
  }
  page.line("requests", text);
  const TokenCounts& tokens = summary.all.tokens;
  std::string counts = compact(tokens.prompt) + " prompt";
  if (tokens.cached > 0) {
    counts += fmt::format(" ({} cached, {})", compact(tokens.cached),
                          percent(static_cast<double>(tokens.cached) / static_cast<double>(tokens.prompt)));
  }
  page.line("tokens", counts + ", " + compact(tokens.output) + " output");
}

/// All figures of a row in one unit, so that they can be compared at a glance.
void add_row(Page& page, std::string_view name, const Distribution& figures, std::string_view note = {}) {
  if (figures.count == 0) return page.line(name, fmt::format("{:>10}", "-"));
  const bool millis = figures.p99 < 10;
  const double scale = millis ? 1e3 : 1;
  std::string text;
  for (const double value : {figures.mean, figures.p50, figures.p90, figures.p99, figures.max}) {
    text += fmt::format("{:>10}", compact(value * scale));
  }
  page.line(name, text + (millis ? " ms" : " s ") + (note.empty() ? "" : "  ") + page.paint(Paint::kDim, note));
}

void add_latencies(Page& page, const LatencyFigures& latency) {
  page.line("", fmt::format("{:>10}{:>10}{:>10}{:>10}{:>10}", "mean", "p50", "p90", "p99", "max"));
  add_row(page, "TTFT", latency.ttft, "first token at the client");
  add_row(page, "TPOT", latency.tpot, "per request: mean time between its tokens");
  add_row(page, "ITL", latency.itl, "all gaps between tokens");
  add_row(page, "E2E", latency.e2e, "last token at the client");
  add_row(page, "queue", latency.queue, "arrival to first scheduling");
}

void add_throughput(Page& page, const Summary& summary) {
  const Throughput& rates = summary.all.throughput;
  page.line("throughput", fmt::format("{} requests/s, {} output tokens/s, {} tokens/s", compact(rates.requests_per_s),
                                      compact(rates.output_tokens_per_s), compact(rates.total_tokens_per_s)));
  if (summary.gpus < 2) return;
  const auto gpus = static_cast<double>(summary.gpus);
  page.line("per GPU", fmt::format("{} requests/s, {} output tokens/s, {} tokens/s on each of {}",
                                   compact(rates.requests_per_s / gpus), compact(rates.output_tokens_per_s / gpus),
                                   compact(rates.total_tokens_per_s / gpus), compact(summary.gpus)));
}

std::string limits(const SloLimits& slo) {
  std::string text;
  for (const auto& [name, limit] :
       {std::pair{"TTFT", slo.ttft_s}, std::pair{"TPOT", slo.tpot_s}, std::pair{"E2E", slo.e2e_s}}) {
    if (limit) text += fmt::format("{}{} <= {}", text.empty() ? "" : ", ", name, duration(*limit));
  }
  return text;
}

void add_goodput(Page& page, const Summary& summary) {
  bool any = false;
  for (const ClassSummary& one : summary.classes) any = any || !one.slo.is_empty();
  if (!any) return;
  const auto text = [&](const Goodput& goodput, const std::string& note) {
    return fmt::format("{} of requests, {}/s{}", percent(goodput.share), compact(goodput.requests_per_s), note);
  };
  if (summary.classes.size() == 1) {
    return page.line("goodput", text(summary.all.goodput, fmt::format(" ({})", limits(summary.classes.front().slo))));
  }
  page.line("goodput", text(summary.all.goodput, ""));
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(summary.classes.size(), kShown); ++i) {
    const ClassSummary& one = summary.classes[i];
    const std::string slo = one.slo.is_empty() ? "no limits" : limits(one.slo);
    page.line("", fmt::format("{}: {}", one.name, text(one.figures.goodput, fmt::format(" ({})", slo))));
  }
  if (summary.classes.size() > kShown)
    page.line("", fmt::format("and {} more classes", summary.classes.size() - kShown));
}

/// Whose times a pool was given.
void add_sources(Page& page, const PoolTotals& pool) {
  std::string text = pool.device.empty() ? "" : fmt::format("device times of {}", pool.device);
  if (!pool.host.empty()) text += fmt::format("{}host times of platform '{}'", text.empty() ? "" : "; ", pool.host);
  if (!text.empty()) page.line("", text);
}

void add_pools(Page& page, const RunTotals& run) {
  for (const PoolTotals& pool : run.pools) {
    const PoolFigures load = pool_figures(pool.replicas, pool.kv_blocks, run.simulated_s);
    const std::size_t replicas = pool.replicas.size();
    page.line("pool", fmt::format("{}: {}{}, busy {}, {} (on average {} requests, {} tokens)", pool.name,
                                  counted(replicas, "replica"), pool.model.empty() ? "" : " of " + pool.model,
                                  percent(1 - load.idle_share), counted(load.iterations, "iteration"),
                                  compact(load.mean_requests), compact(load.mean_tokens)));
    page.line("", fmt::format("KV use mean {}, peak {} of {} blocks; prefix hits {}; {}", percent(load.kv_mean_share),
                              percent(load.kv_peak_share), compact(pool.kv_blocks), percent(load.prefix_hit_share),
                              counted(load.preemptions, "preemption")));
    add_sources(page, pool);
  }
  if (run.network.flows == 0) return;
  page.line("network",
            fmt::format("{}, {}, at most {} at once, mean {}/s", counted(run.network.flows, "flow"),
                        bytes(run.network.bytes), compact(run.network.max_concurrent),
                        run.network.flow_seconds > 0 ? bytes(run.network.bytes / run.network.flow_seconds) : "-"));
  if (run.network.handed_over == 0) return;
  page.line("", fmt::format("KV waited for the decode side to reserve blocks: mean {}, at most {}",
                            duration(run.network.wait_seconds / static_cast<double>(run.network.handed_over)),
                            duration(run.network.longest_wait_s)));
}

void add_time(Page& page, const Summary& summary, const Timing& timing) {
  const double alone_s = simulating_s(timing);
  std::string text = duration(summary.run.simulated_s) + " simulated in " + duration(alone_s);
  if (alone_s > 0) {
    text += fmt::format(" ({}x, {} requests/s", compact(summary.run.simulated_s / alone_s),
                        compact(static_cast<double>(timing.requests) / alone_s));
    if (timing.iterations > 0)
      text += fmt::format(", {} iterations/s", compact(static_cast<double>(timing.iterations) / alone_s));
    text += ")";
  }
  if (timing.wall_s > alone_s) text += ", " + duration(timing.wall_s) + " in all";
  if (timing.peak_rss_bytes > 0) text += fmt::format(", {} memory", bytes(static_cast<double>(timing.peak_rss_bytes)));
  page.line("time", page.paint(Paint::kDim, text));
}

OracleFigures oracle_of(const RunTotals& run) {
  std::vector<replica::ReplicaStats> stats;
  for (const PoolTotals& pool : run.pools) stats.insert(stats.end(), pool.replicas.begin(), pool.replicas.end());
  return oracle_figures(stats);
}

void add_oracle(Page& page, const RunTotals& run) {
  const OracleFigures oracle = oracle_of(run);
  if (!oracle.stated_error) return;
  std::string shares;
  for (const auto& [share, from] :
       {std::pair(oracle.measured, "measured"), std::pair(oracle.interpolated, "interpolated"),
        std::pair(oracle.extrapolated, "extrapolated"), std::pair(oracle.roofline, "roofline")})
    if (share >= 0.0005) shares += fmt::format("{}{} {}", shares.empty() ? "" : ", ", percent(share), from);
  page.line("oracle", fmt::format("{}; states an error of {} for its times", shares, percent(*oracle.stated_error)));
}

void add_oracle_warning(std::vector<std::string>& warnings, const RunTotals& run) {
  const OracleFigures oracle = oracle_of(run);
  if (oracle.roofline == 1) {
    warnings.emplace_back(
        "every time is a roofline estimate (FLOPs and bytes over the device's peaks): nothing was measured");
  } else if (oracle.roofline > 0.01) {
    warnings.push_back(fmt::format("{} of the predicted time is a roofline estimate", percent(oracle.roofline)));
  }
  if (oracle.extrapolated > 0.01) {
    warnings.push_back(
        fmt::format("{} of the predicted time lies outside the measured range", percent(oracle.extrapolated)));
  }
}

}  // namespace

std::vector<std::string> summary_warnings(const Summary& summary) {
  std::vector<std::string> warnings = summary.run.warnings;
  for (const auto& [reason, count] : summary.all.requests.reasons) {
    warnings.push_back(
        fmt::format("{} {} not complete: {}", compact(count), count == 1 ? "request did" : "requests did", reason));
  }
  if (summary.saturated) {
    warnings.emplace_back(
        "queueing grew all the time: more arrives than the replicas can serve, so latencies depend on "
        "the length of the run");
  }
  add_oracle_warning(warnings, summary.run);
  const LatencyFigures& latency = summary.all.latency;
  if (!latency.ttft.exact || !latency.e2e.exact) {
    warnings.emplace_back("percentiles come from a sketch with a relative error of at most 0.1 %");
  }
  return warnings;
}

std::string terminal_summary(const Summary& summary, const Timing& timing, bool colours) {
  Page page(colours);
  const RunTotals& run = summary.run;
  std::string what;
  for (const PoolTotals& pool : run.pools) {
    what +=
        fmt::format("{}{} x {} {}{}", what.empty() ? "" : " + ", pool.replicas.size(), pool.gpus_per_replica,
                    pool.gpu.empty() ? "GPU" : pool.gpu, run.pools.size() > 1 ? fmt::format(" ({})", pool.name) : "");
  }
  page.line(run.scenario.name.empty() ? "run" : run.scenario.name,
            fmt::format("  {}, seed {}", what, run.scenario.seed));
  if (run.partial) page.line("PARTIAL", page.paint(Paint::kRed, *run.partial));
  add_outcome(page, summary);
  add_latencies(page, summary.all.latency);
  add_throughput(page, summary);
  add_goodput(page, summary);
  add_pools(page, run);
  add_oracle(page, run);
  for (const std::string& warning : summary_warnings(summary))
    page.line("warning", page.paint(Paint::kYellow, warning));
  add_time(page, summary, timing);
  return page.take();
}

}  // namespace dooly::results
