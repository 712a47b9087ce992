#include "results/recorder.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "queue_trend.hpp"
#include "results/number_text.hpp"
#include "results/requests_csv.hpp"
#include "sample_store.hpp"

namespace dooly::results {
namespace {

bool meets(const SloLimits& slo, double ttft_s, double tpot_s, double e2e_s) {
  // a time that is undefined (the TPOT of one token) misses no limit
  return !(slo.ttft_s && ttft_s > *slo.ttft_s) && !(slo.tpot_s && tpot_s > *slo.tpot_s) &&
         !(slo.e2e_s && e2e_s > *slo.e2e_s);
}

[[noreturn]] void reject_order(const FinishedRequest& request) {
  throw std::logic_error("times of request " + std::to_string(request.id) + " run back: arrival " +
                         number_text(request.arrival_s) + ", scheduled " + number_text(request.scheduled_s) +
                         ", first token " + number_text(request.first_token_engine_s) + " (client " +
                         number_text(request.first_token_s) + "), last token " + number_text(request.finish_s));
}

double rate(std::uint64_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }

}  // namespace

struct Recorder::ClassRecord {
  std::uint16_t number = 0;
  SloLimits slo;
  std::uint64_t by_status[4] = {};
  TokenCounts tokens;
  std::uint64_t good = 0;
  std::map<std::uint16_t, std::uint64_t> reasons;
  SampleStore samples;
  Sketch gaps;
};

Recorder::Recorder(std::function<SloLimits(std::uint16_t)> slo_of_class, RequestsCsv* rows)
    : slo_of_class_(std::move(slo_of_class)),
      rows_(rows),
      first_arrival_s_(std::numeric_limits<double>::infinity()),
      trend_(std::make_unique<QueueTrend>()) {
  reasons_.emplace_back();  // number 0: none
  if (rows_ != nullptr) rows_->name_reasons([this](std::uint16_t number) { return reasons_[number]; });
}

Recorder::~Recorder() = default;

std::uint16_t Recorder::reason(std::string_view text) {
  if (const auto known = reason_numbers_.find(text); known != reason_numbers_.end()) return known->second;
  if (reasons_.size() > std::numeric_limits<std::uint16_t>::max()) throw std::logic_error("too many different reasons");
  const auto number = static_cast<std::uint16_t>(reasons_.size());
  reasons_.emplace_back(text);
  reason_numbers_.emplace(text, number);
  return number;
}

Recorder::ClassRecord& Recorder::add_class(std::uint16_t request_class) {
  if (request_class >= classes_.size()) classes_.resize(request_class + std::size_t{1});
  auto record = std::make_unique<ClassRecord>();
  record->number = request_class;
  if (slo_of_class_) record->slo = slo_of_class_(request_class);
  classes_[request_class] = std::move(record);
  return *classes_[request_class];
}

void Recorder::finished(const FinishedRequest& request) {
  ClassRecord& record = record_of(request.request_class);
  ++ended_;
  ++record.by_status[static_cast<std::size_t>(request.status)];
  first_arrival_s_ = std::min(first_arrival_s_, request.arrival_s);
  if (request.status == RequestStatus::kCompleted) [[likely]]
    complete(record, request);
  else
    ++record.reasons[request.reason];
  if (rows_ != nullptr) rows_->put(request);
}

void Recorder::complete(ClassRecord& record, const FinishedRequest& request) {
  const bool ordered =
      request.arrival_s >= 0 && request.arrival_s <= request.scheduled_s &&
      request.scheduled_s <= request.first_token_engine_s && request.first_token_engine_s <= request.first_token_s &&
      request.first_token_s <= request.finish_s && request.finish_s <= std::numeric_limits<double>::max();
  if (!ordered) [[unlikely]]
    reject_order(request);  // NaN too
  const double ttft_s = request.ttft_s();
  const double tpot_s = request.tpot_s();
  const double e2e_s = request.e2e_s();
  const double queue_s = request.queue_s();
  ++completed_;
  record.tokens.prompt += request.prompt_tokens;
  record.tokens.cached += request.cached_tokens;
  record.tokens.output += request.output_tokens;
  record.good += meets(record.slo, ttft_s, tpot_s, e2e_s) ? 1 : 0;
  record.samples.add(ttft_s, tpot_s, e2e_s, queue_s);
  last_token_s_ = std::max(last_token_s_, request.finish_s);
  trend_->add(request.arrival_s, queue_s);
}

void Recorder::gaps(std::uint16_t request_class, double gap_s, std::uint64_t count) {
  if (count > 0) record_of(request_class).gaps.add(gap_s, count);
}

void Recorder::gap_run(std::uint16_t request_class, std::span<const double> gaps_s, std::uint64_t count) {
  if (count == 0) return;
  auto& gaps = record_of(request_class).gaps;
  for (const double gap_s : gaps_s) gaps.add(gap_s, count);
}

RequestFigures Recorder::figures_of(const std::vector<const ClassRecord*>& records, double span_s) const {
  RequestFigures figures;
  RequestCounts& requests = figures.requests;
  std::vector<const SampleStore*> samples;
  std::map<std::string, std::uint64_t> reasons;
  Sketch gaps;
  for (const ClassRecord* record : records) {
    requests.completed += record->by_status[0];
    requests.rejected += record->by_status[1];
    requests.failed += record->by_status[2];
    requests.unfinished += record->by_status[3];
    figures.tokens.prompt += record->tokens.prompt;
    figures.tokens.cached += record->tokens.cached;
    figures.tokens.output += record->tokens.output;
    figures.goodput.requests += record->good;
    for (const auto& [number, count] : record->reasons) {
      if (number != 0) reasons[reasons_[number]] += count;
    }
    samples.push_back(&record->samples);
    gaps.merge(record->gaps);
  }
  requests.submitted = requests.completed + requests.rejected + requests.failed + requests.unfinished;
  requests.reasons.assign(reasons.begin(), reasons.end());
  figures.throughput.requests_per_s = rate(requests.completed, span_s);
  figures.throughput.output_tokens_per_s = rate(figures.tokens.output, span_s);
  figures.throughput.total_tokens_per_s = rate(figures.tokens.prompt + figures.tokens.output, span_s);
  figures.goodput.requests_per_s = rate(figures.goodput.requests, span_s);
  figures.goodput.share = rate(figures.goodput.requests, static_cast<double>(requests.submitted));
  const auto column = [&](SampleStore::Column which) {
    return SampleStore::figures(samples, which, SampleStore::kExactLimit);
  };
  figures.latency = {.ttft = column(SampleStore::kTtft),
                     .tpot = column(SampleStore::kTpot),
                     .itl = gaps.figures(),
                     .e2e = column(SampleStore::kE2e),
                     .queue = column(SampleStore::kQueue)};
  return figures;
}

Summary Recorder::finish(RunTotals totals) {
  if (ended_ != totals.submitted) {
    throw std::logic_error("requests do not add up: " + std::to_string(totals.submitted) + " submitted, " +
                           std::to_string(ended_) + " ended");
  }
  if (rows_ != nullptr) rows_->finish(totals.submitted);
  Summary summary;
  summary.span_s = completed_ > 0 ? last_token_s_ - first_arrival_s_ : 0;
  summary.saturated = trend_->grows();
  std::vector<const ClassRecord*> records;
  for (const auto& record : classes_) {
    if (record) records.push_back(record.get());
  }
  for (const ClassRecord* record : records) {
    ClassSummary one{.name = {}, .slo = record->slo, .figures = {}};
    one.name = record->number < totals.class_names.size() ? totals.class_names[record->number]
                                                          : std::to_string(record->number);
    one.figures = figures_of({record}, summary.span_s);
    summary.classes.push_back(std::move(one));
  }
  summary.all = records.size() == 1 ? summary.classes.front().figures : figures_of(records, summary.span_s);
  for (const PoolTotals& pool : totals.pools) summary.gpus += pool.gpus_per_replica * pool.replicas.size();
  totals.checks.push_back({"requests_add_up", std::to_string(totals.submitted) + " requests"});
  totals.checks.push_back({"request_times_in_order", std::to_string(completed_) + " requests"});
  summary.run = std::move(totals);
  return summary;
}

}  // namespace dooly::results
