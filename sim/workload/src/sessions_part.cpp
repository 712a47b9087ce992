#include "sessions_part.hpp"

#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace dooly::workload {

SessionsPart::SessionsPart(const scenario::SessionsSpec& spec, const PartContext& context)
    : spec_(spec),
      context_(context),
      class_(context.classes->index_of(context.default_class)),
      turns_law_(spec.turns, Sampler::Kind::kWhole, context.name + ": turns"),
      think_law_(spec.think_time_s, Sampler::Kind::kSeconds, context.name + ": think_time"),
      first_prompt_(spec.first_prompt, Sampler::Kind::kWhole, context.name + ": first_prompt"),
      turn_prompt_(spec.turn_prompt, Sampler::Kind::kWhole, context.name + ": turn_prompt"),
      output_(spec.output_tokens, Sampler::Kind::kWhole, context.name + ": output_tokens"),
      prefix_(spec.prefix, context.name),
      most_(spec.sessions.value_or(~std::uint64_t{0})),
      end_s_(spec.duration_s.value_or(kNever)) {
  for (const auto* law : {&spec.turns, &spec.think_time_s, &spec.first_prompt, &spec.turn_prompt, &spec.output_tokens})
    note_file(*law, files_);
  if (const auto* turns = std::get_if<scenario::Fixed>(&spec.turns); turns != nullptr && spec.sessions)
    expected_ = *spec.sessions * static_cast<std::uint64_t>(turns->value);
  if (const auto* loop = std::get_if<scenario::Arrivals::ClosedLoop>(&spec.arrivals.process)) {
    between_sessions_.emplace(loop->think_time_s, Sampler::Kind::kSeconds, context.name + ": arrivals: think_time");
    note_file(loop->think_time_s, files_);
    for (std::uint64_t client = 0; client < loop->concurrency; ++client) {
      client_random_.emplace_back(context.seed, context.stream_name("client"), client);
      idle_clients_.push(0, client);
    }
  } else {
    arrivals_.emplace(spec.arrivals, context.seed, context.stream_name("arrivals"));
    files_.insert(files_.end(), arrivals_->files().begin(), arrivals_->files().end());
    next_start_s_ = arrivals_->next();
  }
  advance();
}

TraceColumns SessionsPart::columns() const {
  TraceColumns columns;
  columns.request_class = columns.session = columns.after = true;
  columns.priority = context_.priority != 0;
  columns.prefix = prefix_.is_set();
  return columns;
}

void SessionsPart::advance() {
  if (between_sessions_) next_start_s_ = idle_clients_.is_empty() ? kNever : idle_clients_.earliest_s();
  if (started_ == most_ || next_start_s_ >= end_s_) next_start_s_ = kNever;
  next_arrival_s_ = turns_.empty() ? next_start_s_ : std::min(next_start_s_, turns_.front().time_s);
}

std::uint32_t SessionsPart::start_session() {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  Session& session = slots_[slot];
  session.number = started_++;
  session.lengths = RandomStream(context_.seed, context_.stream_name("lengths"), session.number);
  session.times = RandomStream(context_.seed, context_.stream_name("think_time"), session.number);
  session.client = between_sessions_ ? idle_clients_.pop() : 0;
  session.turn = 0;
  session.turns = turns_law_.draw_whole(session.lengths);
  session.prompt = first_prompt_.draw_whole(session.lengths);
  session.after_s = 0;
  Request chosen;
  chosen.prompt_tokens = session.prompt;
  prefix_.choose(chosen, session.lengths, context_.numbers);
  session.prefix_id = chosen.prefix_id;
  session.prefix_tokens = chosen.prefix_tokens;
  if (arrivals_) next_start_s_ = arrivals_->next();
  return slot;
}

void SessionsPart::take(Request& into) {
  into.arrival_s = next_arrival_s_;
  std::uint32_t slot = 0;
  if (!turns_.empty() && turns_.front().time_s <= next_start_s_) {  // older sessions first
    slot = turns_.front().slot;
    std::pop_heap(turns_.begin(), turns_.end(), std::greater<>());
    turns_.pop_back();
  } else {
    slot = start_session();
  }
  fill(into, slots_[slot]);
  into.ticket = Ticket{slot};
  ++open_;
  if (slots_[slot].turn + 1 == slots_[slot].turns && !between_sessions_) {
    into.ticket = kNoTicket;  // nobody waits for the last answer
    end_session(slot, 0);
  }
  advance();
}

void SessionsPart::fill(Request& into, Session& session) {
  session.output = output_.draw_whole(session.lengths);
  into.prompt_tokens = session.prompt;
  into.output_tokens = session.output;
  into.request_class = class_;
  into.priority = context_.priority;
  into.session = context_.numbers(session.number);
  into.turn = session.turn;
  into.after_s = session.after_s;
  into.deadline_s = 0;
  into.truncated = false;
  clear_content(into);
  if (session.prefix_id != kNoPrefix) set_prefix(into, session.prefix_id, session.prefix_tokens);
  append_conversation(into, true);
}

void SessionsPart::end_session(std::uint32_t slot, double time_s) {
  --open_;
  free_slots_.push_back(slot);
  if (!between_sessions_) return;
  const std::uint64_t client = slots_[slot].client;
  idle_clients_.push(time_s + between_sessions_->draw(client_random_[client]), client);
}

void SessionsPart::finished(std::uint64_t ticket, double client_time_s, Outcome outcome) {
  const auto slot = static_cast<std::uint32_t>(ticket);
  Session& session = slots_[slot];
  if (outcome != Outcome::kCompleted || session.turn + 1 == session.turns) {
    end_session(slot, client_time_s);
  } else {
    --open_;
    ++session.turn;
    session.after_s = think_law_.draw(session.times);
    const std::uint64_t prompt =
        std::uint64_t{session.prompt} + session.output + turn_prompt_.draw_whole(session.lengths);
    if (prompt > kMaxTokens)
      throw WorkloadError(
          fmt::format("{}: session {} grows beyond {} tokens", context_.name, session.number, kMaxTokens));
    session.prompt = static_cast<std::uint32_t>(prompt);
    turns_.push_back({client_time_s + session.after_s, session.number, slot});
    std::push_heap(turns_.begin(), turns_.end(), std::greater<>());
  }
  advance();
}

}  // namespace dooly::workload
