#include "engine_server.hpp"

#include "profiling_kernels/profiling_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace dooly::profiling {

namespace {

constexpr std::uint64_t kOwnSegments = 8192, kOutputSegments = 16384;  // as decision logs number texts

/// SplitMix64 (Steele, Lea, Flood 2014), of a text's token.
std::uint64_t hashed(std::uint64_t seed, std::uint64_t segment, std::uint64_t position) {
  std::uint64_t value = (seed * 0x9E3779B97F4A7C15ULL) ^ (segment << 32) ^ position;
  value += 0x9E3779B97F4A7C15ULL;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
  return value ^ (value >> 31);
}

std::uint32_t shared_tokens(const ServeRequest& request) {
  return request.prefix_group == ServeRequest::kNoPrefix ? 0 : std::min(request.prefix_tokens, request.prompt);
}

}  // namespace

std::vector<std::int64_t> prompt_tokens(const ServeRequest& request, std::size_t place, std::uint64_t seed,
                                        std::uint64_t vocabulary) {
  const std::uint32_t shared = shared_tokens(request);
  std::vector<std::int64_t> tokens(request.prompt);
  for (std::uint32_t i = 0; i < request.prompt; ++i) {
    const std::uint64_t segment = i < shared ? request.prefix_group : kOwnSegments + place;
    tokens[i] = static_cast<std::int64_t>(hashed(seed, segment, i) % vocabulary);
  }
  return tokens;
}

EngineServer::EngineServer(ServedRun& run, const ServeOptions& options, sdk::SchedulerPolicy& policy,
                           StepRunner& runner, std::uint64_t vocabulary)
    : run_(run),
      options_(options),
      runner_(runner),
      vocabulary_(vocabulary),
      engine_(run.engine, policy, replica::make_block_kv_cache(run.engine)),
      book_(run.engine.groups.size()),
      rows_(engine_),
      contents_(run.requests.size()),
      free_since_us_(std::min<std::size_t>(options.workers, run.requests.size()), 0) {
  engine_.record(true);
}

void EngineServer::serve() {
  zero_ = Clock::now();
  run_.zero_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(zero_.time_since_epoch()).count();
  while (finished_ < run_.requests.size() || !is_idle()) {
    if (is_idle()) wait_for_arrival();
    rows_.begin();
    take_arrivals();
    const bool wait = engine_.has_requests() ? schedule() : engine_.batches_in_flight() > 0;
    if (wait) read_result();
    rows_.end();
  }
  run_.decisions = rows_.take();
}

std::int64_t EngineServer::now_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - zero_).count();
}

// --- arrivals

std::int64_t EngineServer::due_us(std::size_t request) const {
  if (options_.workers == 0) return static_cast<std::int64_t>(run_.requests[request].request.arrival_s * 1e6);
  return request < free_since_us_.size() ? free_since_us_[request] : std::numeric_limits<std::int64_t>::max();
}

void EngineServer::wait_for_arrival() {
  if (next_ < run_.requests.size()) std::this_thread::sleep_until(zero_ + std::chrono::microseconds(due_us(next_)));
}

void EngineServer::take_arrivals() {
  for (const std::int64_t now = now_us(); next_ < run_.requests.size() && due_us(next_) <= now; ++next_) {
    ServedRequest& served = run_.requests[next_];
    const auto tag = static_cast<std::uint32_t>(next_);
    served.sent_us = due_us(next_);
    if (options_.workers > 0) served.request.arrival_s = static_cast<double>(served.sent_us) * 1e-6;
    served.first_call = engine_.calls();
    contents_[next_] = content_of(next_);
    book_.open(tag, prompt_tokens(served.request, next_, options_.seed, vocabulary_));
    engine_.add({.tag = tag,
                 .prompt = served.request.prompt,
                 .output = served.request.output,
                 .priority = served.request.priority,
                 .sequence = tag,
                 .arrival_s = served.request.arrival_s,
                 .content = contents_[next_],
                 .remote = {}});
    served.added_us = now_us();
    rows_.added(tag);
  }
}

replica::ContentPath EngineServer::content_of(std::size_t request) const {
  const ServeRequest& asked = run_.requests[request].request;
  replica::ContentPath content;
  std::uint64_t key = 0;
  const std::uint32_t shared = shared_tokens(asked);
  if (shared > 0) {
    key = replica::chain_key(key, 0, asked.prefix_group, 0);
    content.push_back({key, shared, false});
  }
  if (shared < asked.prompt) {
    key = replica::chain_key(key, shared, kOwnSegments + request, 0);
    content.push_back({key, asked.prompt, true});
  }
  key = replica::chain_key(key, asked.prompt, kOutputSegments + request, 0);
  content.push_back({key, replica::ContentSegment::kOpenEnd, true});
  return content;
}

// --- a turn

/// Says whether the oldest batch has to be waited for.
bool EngineServer::schedule() {
  const std::int64_t begin_us = now_us();
  const replica::Batch& batch = engine_.schedule(static_cast<double>(begin_us) * 1e-6);
  const std::int64_t end_us = now_us();
  rows_.called();
  for (const replica::Engine::Started& started : engine_.started()) {
    run_.requests[started.tag].scheduled_us = end_us;
    run_.requests[started.tag].cached = started.cached;
  }
  const bool ran = batch.tokens > 0;
  if (ran) {
    launch(batch, begin_us, end_us);
  } else {
    in_flight_.push_back({});
    check_progress();
  }
  const bool room = engine_.batches_in_flight() < engine_.config().depth();
  return !(room && (ran || engine_.has_requests()));
}

void EngineServer::launch(const replica::Batch& batch, std::int64_t begin_us, std::int64_t end_us) {
  const replica::CallRecord& call = engine_.last_call();
  ServedIteration iteration;
  iteration.schedule_begin = begin_us;
  iteration.schedule_end = end_us;
  iteration.running = batch.running;
  iteration.waiting = batch.waiting;
  iteration.free_blocks = call.free_blocks;
  iteration.context_after = batch.context_after;
  for (const auto& lost : call.preempted) {
    iteration.preempted.push_back(lost.tag);
    ++run_.requests[lost.tag].preemptions;
  }
  InFlight in_flight{.iteration = run_.iterations.size(), .sampling = {}};
  iteration.launch_begin = now_us();
  const std::vector<ScheduledPart> parts = book_.apply(call);
  for (const ScheduledPart& part : parts) {
    iteration.batch.push_back({part.tag, static_cast<std::uint32_t>(part.sequence.tokens.size()),
                               static_cast<std::uint32_t>(part.sequence.computed)});
    if (part.sequence.samples) in_flight.sampling.push_back(part.tag);
  }
  const LaunchedStep launched = runner_.submit(parts);
  iteration.padded = launched.tokens;
  iteration.is_graph = launched.is_graph;
  iteration.launch_end = now_us();
  run_.iterations.push_back(std::move(iteration));
  in_flight_.push_back(std::move(in_flight));
}

void EngineServer::read_result() {
  const InFlight in_flight = std::move(in_flight_.front());
  in_flight_.pop_front();
  ServedIteration* iteration = in_flight.iteration ? &run_.iterations[*in_flight.iteration] : nullptr;
  if (iteration != nullptr) {
    iteration->wait_begin = now_us();
    const StepResult result = runner_.collect();
    iteration->wait_end = now_us();
    iteration->device_us = result.device_s * 1e6;
    iteration->device_gap_us = result.gap_s * 1e6;
    for (std::size_t i = 0; i < in_flight.sampling.size(); ++i)
      book_.add_token(in_flight.sampling[i], result.ids.at(i));
  }
  const auto events = engine_.read_result(static_cast<double>(now_us()) * 1e-6);
  rows_.read(events);
  const std::int64_t at_us = now_us();
  if (iteration != nullptr) iteration->update_end = at_us;
  deliver(events, at_us);
}

void EngineServer::deliver(std::span<const replica::ResultEvent> events, std::int64_t at_us) {
  for (const replica::ResultEvent& event : events) {
    ServedRequest& served = run_.requests[event.tag];
    served.token_us.push_back(at_us);
    served.tokens.push_back(book_.tokens(event.tag)[book_.prompt(event.tag) + served.tokens.size()]);
    if (!event.finished) continue;
    book_.close(event.tag);
    ++finished_;
    if (options_.workers > 0) free_since_us_.push_back(at_us);
    if (options_.progress) options_.progress(finished_);
  }
}

/// An empty batch with nothing in flight: only an arrival can change that.
void EngineServer::check_progress() {
  if (in_flight_.size() > 1 || !engine_.has_requests() || engine_.is_unsettled()) return;
  if (engine_.waiting_total() + engine_.running_total() == 0) return;
  if (next_ < run_.requests.size()) return wait_for_arrival();
  const auto stuck = engine_.stuck();
  throw ProfilingError(fmt::format("{} requests can never go on, the first of them (place {}): {}", stuck.size(),
                                   stuck.empty() ? 0 : stuck.front().first, stuck.empty() ? "" : stuck.front().second));
}

}  // namespace dooly::profiling
