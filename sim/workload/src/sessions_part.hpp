#pragma once

#include "loops.hpp"
#include "shapes.hpp"

#include <optional>
#include <vector>

namespace dooly::workload {

/// Conversations: a later turn's prompt is all that was said plus new text, and comes after the answer before plus time
/// to think. Each session draws from random streams of its own, so its lengths do not depend on how fast it is served.
class SessionsPart : public Part {
 public:
  SessionsPart(const scenario::SessionsSpec& spec, const PartContext& context);
  void take(Request& into) override;
  void finished(std::uint64_t ticket, double client_time_s, Outcome outcome) override;
  bool exhausted() const override { return next_arrival_s_ == kNever && open_ == 0; }
  std::uint64_t expected_requests() const override { return expected_; }
  TraceColumns columns() const override;
  std::vector<std::filesystem::path> files() const override { return files_; }

 private:
  struct Session {
    RandomStream lengths, times;
    std::uint64_t number = 0;
    std::uint64_t client = 0;  ///< closed loop
    std::uint32_t turn = 0, turns = 0;
    std::uint32_t prompt = 0;  ///< of the turn to come
    std::uint32_t output = 0;  ///< of the turn on its way
    std::uint64_t prefix_id = kNoPrefix;
    std::uint32_t prefix_tokens = 0;
    double after_s = 0;
  };
  struct Turn {
    double time_s;
    std::uint64_t number;
    std::uint32_t slot;
    bool operator>(const Turn& other) const {
      return time_s != other.time_s ? time_s > other.time_s : number > other.number;
    }
  };

  void advance();
  std::uint32_t start_session();
  void end_session(std::uint32_t slot, double time_s);
  void fill(Request& into, Session& session);

  scenario::SessionsSpec spec_;
  PartContext context_;
  std::uint16_t class_;
  Sampler turns_law_, think_law_, first_prompt_, turn_prompt_, output_;
  PrefixChooser prefix_;
  std::optional<OpenArrivals> arrivals_;
  std::optional<Sampler> between_sessions_;  ///< closed loop
  std::vector<RandomStream> client_random_;
  ClientHeap idle_clients_;
  std::vector<std::filesystem::path> files_;
  std::uint64_t started_ = 0, most_, expected_ = 0;
  double end_s_;
  double next_start_s_ = kNever;
  std::vector<Session> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::vector<Turn> turns_;  ///< heap
  std::uint64_t open_ = 0;  ///< sessions whose turn is on its way
};

}  // namespace dooly::workload
