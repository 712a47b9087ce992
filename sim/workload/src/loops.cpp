#include "loops.hpp"

#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace dooly::workload {

void ClientHeap::push(double time_s, std::uint64_t client) {
  heap_.push_back({time_s, client});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

std::uint64_t ClientHeap::pop() {
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  const std::uint64_t client = heap_.back().client;
  heap_.pop_back();
  return client;
}

OpenLoop::OpenLoop(std::unique_ptr<Shapes> shapes, const scenario::Arrivals& arrivals, std::optional<double> duration_s,
                   const PartContext& context)
    : shapes_(std::move(shapes)),
      arrivals_(arrivals, context.seed, context.stream_name("arrivals")),
      end_s_(duration_s.value_or(kNever)) {
  advance();
}

void OpenLoop::advance() {
  next_arrival_s_ = shapes_->has_next() ? arrivals_.next() : kNever;
  if (next_arrival_s_ >= end_s_) next_arrival_s_ = kNever;
}

void OpenLoop::take(Request& into) {
  shapes_->next(into);
  into.arrival_s = next_arrival_s_;
  into.ticket = kNoTicket;
  advance();
}

std::vector<std::filesystem::path> OpenLoop::files() const {
  auto files = shapes_->files();
  files.insert(files.end(), arrivals_.files().begin(), arrivals_.files().end());
  return files;
}

ClosedLoop::ClosedLoop(std::unique_ptr<Shapes> shapes, const scenario::Arrivals::ClosedLoop& loop,
                       std::optional<double> duration_s, const PartContext& context)
    : shapes_(std::move(shapes)),
      think_(loop.think_time_s, Sampler::Kind::kSeconds, context.name + ": think_time"),
      end_s_(duration_s.value_or(kNever)),
      files_(shapes_->files()) {
  if (loop.concurrency < 1 || loop.concurrency > 100'000'000)
    throw WorkloadError(
        fmt::format("{}: concurrency must be from 1 to 100000000, got {}", context.name, loop.concurrency));
  note_file(loop.think_time_s, files_);
  think_random_.reserve(loop.concurrency);
  for (std::uint64_t client = 0; client < loop.concurrency; ++client) {
    think_random_.emplace_back(context.seed, context.stream_name("think_time"), client);
    ready_.push(0, client);
  }
  advance();
}

void ClosedLoop::take(Request& into) {
  shapes_->next(into);
  into.arrival_s = next_arrival_s_;
  into.ticket = Ticket{ready_.pop()};
  ++waiting_;
  advance();
}

void ClosedLoop::finished(std::uint64_t ticket, double client_time_s, Outcome) {
  --waiting_;
  const double time_s = client_time_s + think_.draw(think_random_[ticket]);
  if (time_s < end_s_) ready_.push(time_s, ticket);
  advance();
}

std::vector<std::filesystem::path> ClosedLoop::files() const { return files_; }

TracePart::TracePart(const TraceRows::Options& options, std::optional<double> duration_s, const PartContext& context)
    : rows_(options, context),
      end_s_(duration_s.value_or(kNever)) {
  head_s_ = rows_.arrival_s(*rows_.head());
  advance();
}

bool TracePart::turn_is_first() const {
  if (turns_.empty()) return false;
  const Turn& turn = turns_.front();
  if (turn.time_s != head_s_) return turn.time_s < head_s_;
  return rows_.head()->pass > turn.at.pass || (rows_.head()->pass == turn.at.pass && rows_.id(*rows_.head()) > turn.id);
}

void TracePart::advance() {
  if (head_s_ >= end_s_) head_s_ = kNever;
  next_arrival_s_ = turns_.empty() ? head_s_ : std::min(head_s_, turns_.front().time_s);
}

void TracePart::take(Request& into) {
  TraceRows::Position at;
  into.arrival_s = next_arrival_s_;
  if (turn_is_first()) {
    at = turns_.front().at;
    std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
    turns_.pop_back();
  } else {
    at = *rows_.head();
  }
  const bool is_head = rows_.head() && at.row == rows_.head()->row && at.pass == rows_.head()->pass;
  rows_.fill(into, at);
  if (has_own_ids()) into.id = rows_.id(at);
  into.ticket = kNoTicket;
  const bool waited = rows_.waits(at);
  if (rows_.next_turn(at)) {
    into.ticket = Ticket{at.packed()};
    if (!waited) {
      rows_.hold(at, 1);
      ++open_sessions_;
    }
  } else if (waited) {
    rows_.hold(at, -1);
    --open_sessions_;
  }
  if (is_head && !waited) {
    rows_.advance();
    head_s_ = rows_.head() ? rows_.arrival_s(*rows_.head()) : kNever;
  }
  advance();
}

void TracePart::finished(std::uint64_t ticket, double client_time_s, Outcome outcome) {
  const auto at = TraceRows::Position::unpack(ticket);
  if (outcome != Outcome::kCompleted) {
    rows_.hold(at, -1);
    --open_sessions_;
  } else {
    const TraceRows::Position next = *rows_.next_turn(at);
    turns_.push_back({client_time_s + rows_.after_s(next), rows_.id(next), next});
    std::push_heap(turns_.begin(), turns_.end(), std::greater<>());
  }
  advance();
}

}  // namespace dooly::workload
