#include "results/requests_csv.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "results/csv_field.hpp"
#include "results/number_text.hpp"
#include "waiting_rows.hpp"

namespace dooly::results {
namespace {

constexpr std::string_view kStatus[] = {"completed", "rejected", "failed", "unfinished"};
constexpr std::size_t kRoomForNumbers = 24 * kNumberRoom;

/// Writes the fields of one row, each with the comma before the next.
class RowWriter {
 public:
  explicit RowWriter(char* at) : at_(at) {}
  void number(std::uint64_t value) {
    at_ = write_number(at_, value);
    *at_++ = ',';
  }
  void number(double value) {  // NaN: an empty field
    at_ = write_number(at_, value);
    *at_++ = ',';
  }
  void text(std::string_view field) {
    if (!field.empty()) std::memcpy(at_, field.data(), field.size());
    at_ += field.size();
    *at_++ = ',';
  }
  void nothing() { *at_++ = ','; }
  char* end_line() {
    at_[-1] = '\n';
    return at_;
  }

 private:
  char* at_;
};

std::filesystem::path spill_path(std::filesystem::path csv) { return csv += ".rows"; }

}  // namespace

const std::string_view RequestsCsv::kHeader =
    "id,class,session,arrival_s,prompt_tokens,cached_tokens,output_tokens,pool,replica,decode_pool,decode_replica,"
    "scheduled_s,first_token_engine_s,first_token_s,finish_s,transfer_wait_s,transfer_s,ttft_s,tpot_s,e2e_s,"
    "preemptions,status,reason\n";

RequestsCsv::RequestsCsv(const std::filesystem::path& path, RowNames names, std::size_t window)
    : sink_(path),
      names_(std::move(names)),
      waiting_(std::make_unique<WaitingRows>(spill_path(path), window)) {
  sink_.append(kHeader);
}

RequestsCsv::~RequestsCsv() = default;

void RequestsCsv::put(const FinishedRequest& request) {
  waiting_->put(request);
  while (const FinishedRequest* next = waiting_->next()) {
    write(*next);
    waiting_->pop();
  }
}

std::string_view RequestsCsv::name(std::deque<std::string>& cache,
                                   const std::function<std::string(std::uint16_t)>& names, std::uint16_t number) {
  if (number >= cache.size()) cache.resize(number + std::size_t{1});
  if (cache[number].empty()) cache[number] = csv_field(names(number));
  return cache[number];
}

void RequestsCsv::write(const FinishedRequest& request) {
  track_ties(request);
  const bool decodes = request.decode_pool != kNoPool;
  const bool routed = request.pool != kNoPool;
  const std::string_view class_name = name(classes_, names_.request_class, request.request_class);
  const std::string_view pool = routed ? name(pools_, names_.pool, request.pool) : std::string_view{};
  const std::string_view decode_pool = decodes ? name(pools_, names_.pool, request.decode_pool) : std::string_view{};
  const std::string_view reason =
      request.reason != 0 ? name(reasons_, names_.reason, request.reason) : std::string_view{};

  RowWriter row(sink_.reserve(kRoomForNumbers + class_name.size() + pool.size() + decode_pool.size() + reason.size()));
  row.number(request.id);
  row.text(class_name);
  request.session != kNoId ? row.number(request.session) : row.nothing();
  row.number(request.arrival_s);
  row.number(std::uint64_t{request.prompt_tokens});
  row.number(std::uint64_t{request.cached_tokens});
  row.number(std::uint64_t{request.output_tokens});
  row.text(pool);
  routed ? row.number(std::uint64_t{request.replica}) : row.nothing();
  row.text(decode_pool);
  decodes ? row.number(std::uint64_t{request.decode_replica}) : row.nothing();
  for (const double time : {request.scheduled_s, request.first_token_engine_s, request.first_token_s, request.finish_s,
                            request.transfer_wait_s, request.transfer_s, request.ttft_s()}) {
    row.number(time);
  }
  const bool completed = request.status == RequestStatus::kCompleted;
  row.number(completed ? request.tpot_s() : kUndefined);
  row.number(completed ? request.e2e_s() : kUndefined);
  row.number(std::uint64_t{request.preemptions});
  row.text(kStatus[static_cast<std::size_t>(request.status)]);
  row.text(reason);
  sink_.commit(row.end_line());
}

void RequestsCsv::track_ties(const FinishedRequest& request) {
  if (request.arrival_s != tie_arrival_s_) {  // true for the first row: NaN equals nothing
    if (tie_unsorted_) unsorted_.push_back({tie_begin_, sink_.size()});
    tie_unsorted_ = false;
    tie_arrival_s_ = request.arrival_s;
    tie_begin_ = sink_.size();
  } else if (request.id < tie_id_) {
    tie_unsorted_ = true;
  }
  tie_id_ = request.id;
}

void RequestsCsv::finish(std::uint64_t count) {
  if (!waiting_->failure().empty()) sink_.fail(waiting_->failure());
  if (!sink_.failed() && waiting_->next_row() != count) {
    throw std::logic_error("request of row " + std::to_string(waiting_->next_row()) + " of " + std::to_string(count) +
                           " was never reported as finished");
  }
  if (tie_unsorted_) unsorted_.push_back({tie_begin_, sink_.size()});
  tie_unsorted_ = false;
  sink_.flush();
  for (const Region region : unsorted_) sort_region(region);
  unsorted_.clear();
}

/// Only names are quoted and could hold a line break; the id comes first and never is.
void RequestsCsv::sort_region(Region region) {
  const std::string text = sink_.read_back(region.begin, region.end - region.begin);
  if (sink_.failed()) return;
  std::vector<std::pair<std::uint64_t, std::string_view>> lines;
  bool quoted = false;
  for (std::size_t begin = 0, at = 0; at < text.size(); ++at) {
    if (text[at] == '"') quoted = !quoted;
    if (text[at] != '\n' || quoted) continue;
    std::uint64_t id = 0;
    std::from_chars(text.data() + begin, text.data() + at, id);
    lines.emplace_back(id, std::string_view(text).substr(begin, at + 1 - begin));
    begin = at + 1;
  }
  std::sort(lines.begin(), lines.end());
  std::string sorted;
  sorted.reserve(text.size());
  for (const auto& line : lines) sorted += line.second;
  sink_.rewrite(region.begin, sorted);
}

}  // namespace dooly::results
