#include "attention_times.hpp"
#include "llmservingsim_writer.hpp"
#include "skew_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace dooly::import_ {
namespace {

using oracle::Sample;
using oracle::SamplePoint;
using ByPoint = std::map<SamplePoint, Sample>;

/// Batches of at most one prefill chunk, with decodes of one length: what attention.csv holds.
bool has_one_length(const Sample& sample) { return sample.point[0] <= 1 && sample.point[5] == 0; }

struct Attention {
  ByPoint of_one_length;
  std::vector<Sample> skewed;
  std::optional<AttentionTimes> times;  ///< of an incomplete grid
  std::uint64_t most_query = 0, longest_prefix = 0, most_decodes = 0, longest_decode = 0;  ///< measured
};

/// The lookup finds its way by the pairs of chunk and decodes: half of those that the lists of both make are what a
/// grid has at least, whose largest batches were infeasible.
bool is_grid(const ByPoint& samples) {
  std::set<std::uint64_t> queries, decodes;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pairs;
  for (const auto& [point, sample] : samples) {
    queries.insert(point[1]), decodes.insert(point[3]);
    pairs.emplace(point[1], point[3]);
  }
  return 2 * pairs.size() >= queries.size() * decodes.size();
}

Attention attention_of(const TensorParallelFolder& folder, const oracle::OperatorKey& key,
                       const std::vector<Sample>& samples) {
  Attention out;
  for (const Sample& sample : samples) {
    const SamplePoint& p = sample.point;
    if (has_one_length(sample))
      out.of_one_length.emplace(p, sample);
    else if (is_skewed(sample))
      out.skewed.push_back(sample);
    else
      ++folder.context.report.left_out["batches of several prefill chunks, which the layout cannot hold"];
    if (p[0] > 0)
      out.most_query = std::max(out.most_query, p[1]), out.longest_prefix = std::max(out.longest_prefix, p[2]);
    out.most_decodes = std::max(out.most_decodes, p[3]);
    out.longest_decode = std::max({out.longest_decode, p[4], p[6]});
  }
  if (folder.gpu != nullptr && !is_grid(out.of_one_length)) out.times.emplace(key, samples, *folder.gpu);
  return out;
}

/// 0 and the powers of two from `first` to `last`.
std::vector<std::uint64_t> octaves(std::uint64_t first, std::uint64_t last) {
  std::vector<std::uint64_t> values{0};
  for (std::uint64_t value = first; value <= last; value *= 2) values.push_back(value);
  return values;
}

/// Upstream's grid, as far as was measured.
std::vector<SamplePoint> grid_of(const Attention& attention) {
  std::vector<SamplePoint> grid;
  // A sweep's contexts may be one short of a power of two, so that decodes attend to one.
  const auto prefixes = octaves(16, attention.longest_prefix + 1), contexts = octaves(16, attention.longest_decode + 1);
  for (const std::uint64_t query : octaves(16, attention.most_query))
    for (const std::uint64_t prefix : prefixes)
      for (const std::uint64_t decodes : octaves(1, attention.most_decodes))
        for (const std::uint64_t context : contexts) {
          const bool is_empty = query == 0 && decodes == 0, is_repeated = query == 0 && prefix > 0;
          if (is_empty || is_repeated || (decodes > 0) != (context > 0)) continue;
          grid.push_back({query > 0 ? 1u : 0u, query, prefix, decodes, context});
        }
  return grid;
}

constexpr const char* kHeader = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us";

std::string row(const Sample& sample, const MoreColumns& more, const char* predicted = "") {
  const SamplePoint& p = sample.point;
  return fmt::format("{},{},{},{},{}{}", p[1], p[2], p[3], p[4], us(sample.median_s), more.cells(sample, predicted));
}

void write_rows(const TensorParallelFolder& folder, const char* name, const std::vector<Sample>& samples) {
  if (samples.empty()) return;
  const MoreColumns more(samples, folder.usual_count);
  std::string text = kHeader + more.header();
  for (const Sample& sample : samples) text += row(sample, more);
  folder.context.write(folder.path / name, text);
}

void write_filled_grid(const TensorParallelFolder& folder, const Attention& attention) {
  const std::vector<SamplePoint> grid = grid_of(attention);
  std::vector<Sample> on_grid, beside;
  const std::set<SamplePoint> cells(grid.begin(), grid.end());
  for (const auto& [point, sample] : attention.of_one_length)
    (cells.contains(point) ? on_grid : beside).push_back(sample);
  const MoreColumns more(on_grid, folder.usual_count, true);
  std::string text = kHeader + more.header();
  for (const SamplePoint& point : grid) {
    const auto measured = attention.of_one_length.find(point);
    text += measured != attention.of_one_length.end()
                ? row(measured->second, more)
                : row(prediction(point, attention.times->seconds(point)), more, "attention");
  }
  folder.context.write(folder.path / "attention.csv", text);
  write_rows(folder, "attention_off_grid.csv", beside);
  folder.context.note(
      fmt::format("{}: {} of {} rows are predictions, which column predicted_operators names; {} measured batches that "
                  "lie beside this grid are in attention_off_grid.csv, which LLMServingSim does not read",
                  (folder.path / "attention.csv").string(), grid.size() - on_grid.size(), grid.size(), beside.size()));
}

void write_grid(const TensorParallelFolder& folder, const Attention& attention) {
  if (attention.times) return write_filled_grid(folder, attention);
  std::vector<Sample> samples;
  for (const auto& [point, sample] : attention.of_one_length) samples.push_back(sample);
  write_rows(folder, "attention.csv", samples);
}

std::string skew_row(const Sample& sample, const SkewTimes& times, const MoreColumns& more) {
  const SamplePoint& p = sample.point;
  const auto alpha = times.alpha();
  return fmt::format("{},{},{},{:.4g},{:.4g},{},{},{},{},{},{},{},{},{}{}", p[1] > 0 ? "mixed" : "pure", p[3], p[5],
                     static_cast<double>(p[5]) / static_cast<double>(p[3]),
                     p[4] > 0 ? static_cast<double>(p[6]) / static_cast<double>(p[4]) : 0.0, p[1], p[2], p[4], p[6],
                     mean_context(p), times.at_mean > 0 ? us(times.at_mean) : "",
                     times.at_longest > 0 ? us(times.at_longest) : "", us(sample.median_s),
                     alpha ? fmt::format("{:.4f}", *alpha) : "nan", more.cells(sample));
}

/// Those that were measured; 0 where they were not.
SkewTimes measured_times(const Attention& attention, const Sample& sample) {
  const auto at = [&](std::uint64_t context) {
    const auto found = attention.of_one_length.find(at_one_length(sample.point, context));
    return found == attention.of_one_length.end() ? 0.0 : found->second.median_s;
  };
  return {sample.median_s, at(mean_context(sample.point)), at(sample.point[6])};
}

SkewTimes predicted_times(const AttentionTimes& times, const SamplePoint& point) {
  return {times.seconds(point), times.seconds(at_one_length(point, mean_context(point))),
          times.seconds(at_one_length(point, point[6]))};
}

std::string write_skew(const TensorParallelFolder& folder, const Attention& attention) {
  SkewFit fit;
  const MoreColumns more(attention.skewed, folder.usual_count);
  std::string text =
      "regime,n,nb,ratio,skew,pc,kp,kvs,kv_big,kv_mean,t_mean_us,t_max_us,t_skew_us,alpha" + more.header();
  for (const Sample& sample : attention.skewed) {
    const SkewTimes times = measured_times(attention, sample);
    text += skew_row(sample, times, more);
    if (!attention.times) fit.add(sample.point, times);
  }
  if (!attention.skewed.empty()) folder.context.write(folder.path / "skew.csv", text);
  if (attention.times && !attention.skewed.empty())
    for (const SamplePoint& point :
         skew_sweep(attention.most_query, attention.most_decodes, attention.longest_decode + 1))
      fit.add(point, predicted_times(*attention.times, point));
  if (fit.empty()) return {};
  folder.context.write(folder.path / "skew_fit.csv", fit.csv(attention.times.has_value()), false);
  return fit.meta(folder.tensor_parallel);
}

}  // namespace

std::string skew_fit_head() { return SkewFit::head(); }

std::string write_attention(const TensorParallelFolder& folder) {
  const auto layer = folder.layers.find("attention");
  if (layer == folder.layers.end()) return {};
  const std::vector<Sample> samples = folder.context.samples(layer->second);
  if (samples.empty()) return folder.context.missing(fmt::format("attention (tp{})", folder.tensor_parallel)), "";
  const Attention attention = attention_of(folder, layer->second, samples);
  write_grid(folder, attention);
  return write_skew(folder, attention);
}

}  // namespace dooly::import_
