#pragma once

#include "arrivals.hpp"
#include "shapes.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace dooly::workload {

/// Clients that come back: a heap of (time, client), earliest first, ties by client.
class ClientHeap {
 public:
  bool is_empty() const { return heap_.empty(); }
  double earliest_s() const { return heap_.front().time_s; }
  void push(double time_s, std::uint64_t client);
  std::uint64_t pop();

 private:
  struct Entry {
    double time_s;
    std::uint64_t client;
    bool operator>(const Entry& other) const {
      return time_s != other.time_s ? time_s > other.time_s : client > other.client;
    }
  };
  std::vector<Entry> heap_;
};

/// Requests that come when an arrival process says, whatever happens to them.
class OpenLoop : public Part {
 public:
  OpenLoop(std::unique_ptr<Shapes> shapes, const scenario::Arrivals& arrivals, std::optional<double> duration_s,
           const PartContext& context);
  void take(Request& into) override;
  void finished(std::uint64_t, double, Outcome) override {}
  bool exhausted() const override { return next_arrival_s_ == kNever; }
  bool has_own_ids() const override { return shapes_->has_own_ids(); }
  std::uint64_t expected_requests() const override { return shapes_->expected(); }
  TraceColumns columns() const override { return shapes_->columns(); }
  std::vector<std::filesystem::path> files() const override;

 private:
  void advance();
  std::unique_ptr<Shapes> shapes_;
  OpenArrivals arrivals_;
  double end_s_;
};

/// A fixed number of clients, each of which waits for its answer and thinks before it sends the next request.
class ClosedLoop : public Part {
 public:
  ClosedLoop(std::unique_ptr<Shapes> shapes, const scenario::Arrivals::ClosedLoop& loop,
             std::optional<double> duration_s, const PartContext& context);
  void take(Request& into) override;
  void finished(std::uint64_t ticket, double client_time_s, Outcome outcome) override;
  bool exhausted() const override { return !shapes_->has_next() || (ready_.is_empty() && waiting_ == 0); }
  bool has_own_ids() const override { return shapes_->has_own_ids(); }
  std::uint64_t expected_requests() const override { return shapes_->expected(); }
  TraceColumns columns() const override { return shapes_->columns(); }
  std::vector<std::filesystem::path> files() const override;

 private:
  void advance() { next_arrival_s_ = shapes_->has_next() && !ready_.is_empty() ? ready_.earliest_s() : kNever; }
  std::unique_ptr<Shapes> shapes_;
  Sampler think_;
  std::vector<RandomStream> think_random_;  ///< by client
  ClientHeap ready_;
  std::uint64_t waiting_ = 0;
  double end_s_;
  std::vector<std::filesystem::path> files_;
};

/// The rows of a trace at their own times; turns of sessions wait for the answer before.
class TracePart : public Part {
 public:
  TracePart(const TraceRows::Options& options, std::optional<double> duration_s, const PartContext& context);
  void take(Request& into) override;
  void finished(std::uint64_t ticket, double client_time_s, Outcome outcome) override;
  bool exhausted() const override { return next_arrival_s_ == kNever && open_sessions_ == 0; }
  bool has_own_ids() const override { return rows_.has_own_ids(); }
  std::uint64_t expected_requests() const override { return end_s_ < kNever ? 0 : rows_.rows_in_all(); }
  TraceColumns columns() const override { return rows_.columns(); }
  std::vector<std::filesystem::path> files() const override { return {rows_.path()}; }

 private:
  struct Turn {
    double time_s;
    std::uint64_t id;
    TraceRows::Position at;
    bool operator>(const Turn& other) const {
      if (time_s != other.time_s) return time_s > other.time_s;
      return at.pass != other.at.pass ? at.pass > other.at.pass : id > other.id;
    }
  };
  void advance();
  bool turn_is_first() const;

  TraceRows rows_;
  double end_s_;
  double head_s_ = kNever;
  std::vector<Turn> turns_;  ///< heap: later turns whose time is known
  std::uint64_t open_sessions_ = 0;
};

}  // namespace dooly::workload
