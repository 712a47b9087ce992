#include "sample_collector.hpp"

#include "environments.hpp"
#include "importer.hpp"
#include "oracle/physical_limit.hpp"
#include "oracle_import/import_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dooly::import_ {
namespace {

using oracle::OperatorKey;
using oracle::Sample;
using oracle::SamplePoint;

constexpr double kOutOfLine = 3.0;        ///< times both neighbours
constexpr double kDisagreement = 2.0;     ///< slowest over fastest repetition of a point ...
constexpr double kDisagreementS = 5e-6;   ///< ... if they are further apart than this

std::string operation_text(const OperatorKey& key) {
  std::string text = fmt::format("{} {} {}", key.kind, fmt::join(key.dtypes, "/"), fmt::join(key.dims, "x"));
  for (const auto& [name, value] : key.attributes) {
    text += " " + name + "=";
    if (const auto* flag = std::get_if<bool>(&value)) text += *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value)) text += std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&value)) text += fmt::format("{}", *real);
    if (const auto* word = std::get_if<std::string>(&value)) text += *word;
  }
  return text + " (" + key.family + ")";
}

std::string point_text(const SamplePoint& point) {
  std::size_t used = point.size();
  while (used > 1 && point[used - 1] == 0) --used;
  return fmt::format("({})", fmt::join(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(used), ","));
}

/// One figure and nothing else.
bool is_bare(const Timing& timing) {
  return timing.mean == timing.median && timing.min == 0 && timing.std == 0 && timing.p10 == 0 && timing.p90 == 0;
}

/// The same measurement told twice, perhaps with fewer figures one time.
bool is_repeated(const Timing& a, const Timing& b) {
  if (a.median != b.median) return false;
  return is_bare(a) || is_bare(b) ||
         (a.mean == b.mean && a.min == b.min && a.std == b.std && a.p10 == b.p10 && a.p90 == b.p90);
}

/// Order in which coordinates make series that should not fall: what is compared last varies fastest.
SamplePoint series_order(const OperatorKey& key, const SamplePoint& point) {
  if (key.kind == "moe_experts") return {point[2], point[1], point[0]};
  return point;
}

/// The coordinate in which alone two points differ; -1: none or several.
int differing(const SamplePoint& a, const SamplePoint& b) {
  int found = -1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (found >= 0) return -1;
    found = static_cast<int>(i);
  }
  return found;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void SampleCollector::begin_file(const std::string& shown) {
  files_.push_back(shown);
  report_->files.push_back(shown);
  line_ = 1;
  model_.clear();
}

void SampleCollector::environment(const oracle::Environment& environment) {
  const auto [found, is_new] =
      environment_ids_.try_emplace(canonical_json(environment), static_cast<std::uint32_t>(environments_.size()));
  if (is_new) {
    environments_.push_back(environment);
    if (known_gpu(environment.gpu) == nullptr)
      report_->notes.push_back(environment.gpu + ": not in the GPU table, physical limits are not checked");
  }
  environment_ = found->second;
}

void SampleCollector::model(const std::string& name) { model_ = name; }

SampleCollector::Key SampleCollector::key(const OperatorKey& key) {
  const auto [found, is_new] = key_ids_.try_emplace(canonical_json(key), static_cast<std::uint32_t>(keys_.size()));
  if (is_new) {
    keys_.push_back(key);
    key_models_.emplace_back();
    key_samples_.push_back(0);
    const auto unknown = std::find_if_not(key.dtypes.begin(), key.dtypes.end(), is_dtype_word);
    unknown_dtypes_.push_back(unknown == key.dtypes.end() ? std::string() : *unknown);
    if (unknown != key.dtypes.end() && unknown->empty()) unknown_dtypes_.back() = "(empty)";
  }
  if (!model_.empty()) key_models_[found->second].insert(model_);
  return Key{found->second};
}

SampleCollector::Bucket& SampleCollector::bucket(std::uint32_t key) {
  if (last_bucket_ < buckets_.size() && buckets_[last_bucket_].key == key &&
      buckets_[last_bucket_].environment == environment_)
    return buckets_[last_bucket_];
  const std::uint64_t id = std::uint64_t{environment_} << 32 | key;
  const auto [found, is_new] = bucket_ids_.try_emplace(id, static_cast<std::uint32_t>(buckets_.size()));
  if (is_new) buckets_.push_back({environment_, key, {}});
  last_bucket_ = found->second;
  return buckets_[last_bucket_];
}

std::uint32_t SampleCollector::kernel_id(std::string_view kernel) {
  if (kernel.empty()) return 0;
  if (kernels_.back() == kernel) return static_cast<std::uint32_t>(kernels_.size() - 1);
  const auto [found, is_new] =
      kernel_ids_.try_emplace(std::string(kernel), static_cast<std::uint32_t>(kernels_.size()));
  if (is_new) kernels_.emplace_back(kernel);
  return found->second;
}

void SampleCollector::add(Key key, const SamplePoint& point, const Timing& timing, std::string_view kernel) {
  if (environments_.empty()) throw ImportError("a sample before its environment");
  if (const std::string& dtype = unknown_dtypes_[static_cast<std::uint32_t>(key)]; !dtype.empty())
    return drop("unknown number format", dtype);
  Timing kept = timing;
  if (kept.mean == 0) kept.mean = kept.median;
  if (kept.median == 0) kept.median = kept.mean;
  if (!std::isfinite(kept.median) || !std::isfinite(kept.mean))
    return drop("not finite", fmt::format("{}", kept.median));
  if (kept.median == 0) return drop("zero", point_text(point));
  if (kept.median < 0 || kept.mean < 0) return drop("negative", fmt::format("{} s", kept.median));
  if (std::max(kept.median, kept.mean) > oracle::kLongestRunS)
    return drop("longer than a day", fmt::format("{} s", std::max(kept.median, kept.mean)));
  for (double* figure : {&kept.min, &kept.std, &kept.p10, &kept.p90})
    if (!(*figure >= 0 && *figure <= oracle::kLongestRunS)) *figure = 0;
  bucket(static_cast<std::uint32_t>(key))
      .entries.push_back({point, kept, static_cast<std::uint32_t>(files_.size() - 1), static_cast<std::uint32_t>(line_),
                          kernel_id(kernel)});
}

void SampleCollector::find(const std::string& reason, bool dropped, std::uint32_t file, std::uint64_t line,
                           std::string_view value) {
  Finding& finding = report_->findings[reason];
  finding.dropped = dropped;
  if (++finding.count <= 3) finding.examples.push_back(fmt::format("{}:{}: {}", files_[file], line, value));
}

void SampleCollector::drop(const std::string& reason, std::string_view value) {
  find(reason, true, static_cast<std::uint32_t>(files_.size() - 1), line_, value);
}

void SampleCollector::remark(const std::string& reason, std::string_view value) {
  find(reason, false, static_cast<std::uint32_t>(files_.size() - 1), line_, value);
}

void SampleCollector::suspect(Merged& merged, const std::string& reason, const std::string& detail) {
  merged.sample.status = oracle::SampleStatus::kSuspect;
  if (!merged.sample.note.empty()) merged.sample.note += "; ";
  merged.sample.note += reason + ": " + detail;
  find(reason, false, merged.file, merged.line, detail);
}

SampleCollector::Merged SampleCollector::take(const Entry& entry) {
  Merged out{{}, entry.file, entry.line};
  Sample& sample = out.sample;
  const Timing& timing = entry.timing;
  sample.point = entry.point;
  sample.kernel_family = kernels_[entry.kernel];
  sample.median_s = timing.median, sample.mean_s = timing.mean, sample.std_s = timing.std, sample.min_s = timing.min;
  sample.p10_s = timing.p10, sample.p90_s = timing.p90, sample.count = timing.count;
  if (timing.min > timing.median * 1.0000001) suspect(out, "figures contradict each other", "minimum above the median");
  return out;
}

SampleCollector::Merged SampleCollector::merge(const Entry* first, const Entry* last) {
  if (last - first == 1) return take(*first);
  std::vector<const Entry*> entries;
  for (const Entry* entry = first; entry != last; ++entry) {
    const auto other = std::find_if(entries.begin(), entries.end(),
                                    [&](const Entry* kept) { return is_repeated(kept->timing, entry->timing); });
    if (other == entries.end()) {
      entries.push_back(entry);
      continue;
    }
    find("figures repeated at one point (one kept)", true, entry->file, entry->line, point_text(entry->point));
    if (!is_bare(entry->timing) || entry->timing.count > (*other)->timing.count) *other = entry;
  }
  if (entries.size() == 1) return take(*entries[0]);
  Merged out{{}, first->file, first->line};
  Sample& sample = out.sample;
  sample.point = first->point;
  sample.kernel_family = kernels_[first->kernel];
  std::vector<double> medians;
  double weight = 0, sum = 0, squares = 0;
  bool all_min = true;
  for (const Entry* entry : entries) {
    const Timing& timing = entry->timing;
    medians.push_back(timing.median);
    const double w = std::max(1u, timing.count);
    weight += w, sum += w * timing.mean, squares += w * (timing.std * timing.std + timing.mean * timing.mean);
    sample.count += timing.count;
    all_min = all_min && timing.min > 0;
    sample.min_s = sample.min_s == 0 ? timing.min : std::min(sample.min_s, timing.min);
    sample.p10_s = sample.p10_s == 0 ? timing.p10 : std::min(sample.p10_s, timing.p10);
    sample.p90_s = std::max(sample.p90_s, timing.p90);
    if (kernels_[entry->kernel] != sample.kernel_family)
      find("kernels differ at one point", false, entry->file, entry->line, kernels_[entry->kernel]);
  }
  if (!all_min) sample.min_s = 0;
  sample.median_s = median_of(medians);
  sample.mean_s = sum / weight;
  sample.std_s = std::sqrt(std::max(0.0, squares / weight - sample.mean_s * sample.mean_s));
  find("point measured again (merged)", false, first[1].file, first[1].line, point_text(first->point));
  const auto [low, high] = std::minmax_element(medians.begin(), medians.end());
  if (*high > kDisagreement * *low && *high - *low > kDisagreementS)
    suspect(out, "repetitions disagree",
            fmt::format("{:.3g} to {:.3g} us at {}", *low * 1e6, *high * 1e6, point_text(sample.point)));
  return out;
}

std::vector<SampleCollector::Merged> SampleCollector::merged(Bucket& bucket, const OperatorKey& key) {
  std::vector<Entry>& entries = bucket.entries;
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    return series_order(key, a.point) < series_order(key, b.point);
  });
  std::vector<Merged> samples;
  samples.reserve(entries.size());
  for (std::size_t i = 0; i < entries.size();) {
    std::size_t end = i + 1;
    while (end < entries.size() && entries[end].point == entries[i].point) ++end;
    samples.push_back(merge(&entries[i], entries.data() + end));
    i = end;
  }
  return samples;
}

void SampleCollector::check_neighbours(std::vector<Merged>& samples, const OperatorKey& key) {
  if (key.kind == "iteration" || key.kind == "host") return;
  const auto neighbour = [&](std::size_t a, std::size_t b) {
    return differing(series_order(key, samples[a].sample.point), series_order(key, samples[b].sample.point));
  };
  std::vector<std::pair<std::size_t, std::string>> found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const int before = i > 0 ? neighbour(i - 1, i) : -1;
    const int after = i + 1 < samples.size() ? neighbour(i, i + 1) : -1;
    if (key.kind == "moe_experts" && (before == 0 || after == 0)) continue;  // another routing, not more work
    const double here = samples[i].sample.median_s;
    const double left = before >= 0 ? samples[i - 1].sample.median_s : 0;
    const double right = after >= 0 && (before < 0 || after == before) ? samples[i + 1].sample.median_s : 0;
    const bool above = right > 0 && here > kOutOfLine * right && (left == 0 || here > kOutOfLine * left);
    const bool below = left > 0 && here * kOutOfLine < left && (right == 0 || here * kOutOfLine < right);
    if (above || below)
      found.emplace_back(i,
                         fmt::format("{:.4g} us at {}, beside it {}", here * 1e6, point_text(samples[i].sample.point),
                                     left > 0 && right > 0 ? fmt::format("{:.4g} and {:.4g}", left * 1e6, right * 1e6)
                                                           : fmt::format("{:.4g}", std::max(left, right) * 1e6)));
  }
  for (const auto& [i, detail] : found) suspect(samples[i], "out of line with its neighbours", detail);
}

void SampleCollector::check_limit(std::vector<Merged>& samples, const OperatorKey& key, const oracle::Gpu* gpu) {
  if (gpu == nullptr) return;
  for (Merged& merged : samples) {
    const auto limit = oracle::physical_limit_s(key, merged.sample.point, *gpu);
    if (limit && merged.sample.median_s < oracle::kLimitShare * *limit)
      suspect(merged, "faster than the device can be",
              fmt::format("{} {}: {:.4g} us, limit {:.4g} us", key.kind, point_text(merged.sample.point),
                          merged.sample.median_s * 1e6, *limit * 1e6));
  }
}

void SampleCollector::finish(oracle::SampleSink& sink) {
  std::stable_sort(buckets_.begin(), buckets_.end(), [](const Bucket& a, const Bucket& b) {
    return std::pair(a.environment, a.key) < std::pair(b.environment, b.key);
  });
  const Bucket* previous = nullptr;
  for (Bucket& bucket : buckets_) {
    const oracle::Environment& environment = environments_[bucket.environment];
    if (previous == nullptr || previous->environment != bucket.environment) sink.environment(environment);
    previous = &bucket;
    const OperatorKey& key = keys_[bucket.key];
    std::vector<Merged> samples = merged(bucket, key);
    check_neighbours(samples, key);
    check_limit(samples, key, known_gpu(environment.gpu));
    std::sort(samples.begin(), samples.end(),
              [](const Merged& a, const Merged& b) { return a.sample.point < b.sample.point; });
    for (const Merged& merged : samples) {
      if (merged.sample.status == oracle::SampleStatus::kSuspect) ++report_->suspects;
      sink.sample(key, merged.sample);
    }
    report_->samples += samples.size();
    report_->kinds[key.kind] += samples.size();
    key_samples_[bucket.key] += samples.size();
    std::vector<Entry>().swap(bucket.entries);
  }
  for (const oracle::Environment& environment : environments_)
    report_->environments.push_back(canonical_json(environment));
  report_shared();
  *this = SampleCollector(*report_);
}

void SampleCollector::report_shared() {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (key_samples_[i] == 0) continue;
    ++report_->signatures;
    if (key_models_[i].size() < 2) continue;
    report_->shared.push_back({signature_of(keys_[i]).hex(),
                               operation_text(keys_[i]),
                               {key_models_[i].begin(), key_models_[i].end()},
                               key_samples_[i]});
  }
  std::sort(report_->shared.begin(), report_->shared.end(), [](const SharedOperator& a, const SharedOperator& b) {
    return std::tie(a.operation, a.signature) < std::tie(b.operation, b.signature);
  });
}

}  // namespace dooly::import_
