#include "trace_rows.hpp"

#include "workload/sampler.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace dooly::workload {
namespace {

constexpr std::size_t kChunkRows = 1 << 14;
constexpr double kNoTime = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TraceRows::TraceRows(const Options& options, const PartContext& context)
    : options_(options),
      context_(context),
      default_class_(context.classes->index_of(context.default_class)) {
  open();
  columns_ = reader_->columns();
  const std::size_t most = options_.any_order ? ~std::size_t{0} : options_.kept_rows;
  whole_ = load(most, options_.any_order ? ~std::size_t{0} : options_.kept_block_ids);
  if (whole_) expected_ = loaded_ * options_.loop;
  if (loaded_ == 0) throw WorkloadError(options_.path.string() + ": has no rows");
  if (whole_) end_pass();
  head_ = Position{};
}

void TraceRows::open() {
  reader_ = open_trace(options_.path, options_.format);
  columns_ = reader_->columns();
  if (options_.keep_times && !columns_.arrival)
    throw WorkloadError(
        fmt::format("{}: format {} has no arrival times: give `arrivals`", options_.path.string(), reader_->format()));
  columns_.truncated |= options_.truncate;
  pending_ = false;
  pass_rows_ = 0;
  last_arrival_s_ = -kNever;
  timed_rows_ = 0;
  max_session_ = 0;
  ids_ = IdSet();
  sessions_.clear();
}

/// Reads one more chunk, to the end of the session it is in. True if the file (or the limit) ended with it.
bool TraceRows::load(std::size_t rows, std::size_t block_ids) {
  Chunk chunk;
  chunk.base = loaded_;
  for (;;) {
    if (!pending_) pending_ = pass_rows_ < options_.limit && reader_->next(row_);
    if (!pending_) break;
    const bool is_full = chunk.rows() >= rows || chunk.block_ids.size() >= block_ids;
    if (is_full && !waits_for_a_turn(row_)) break;
    append(chunk, row_);
    pending_ = false;
    ++loaded_;
    ++pass_rows_;
  }
  if (loaded_ > 0xFFFFFFFFULL) throw WorkloadError(options_.path.string() + ": more than 2^32 rows");
  if (chunk.rows() > 0) chunks_.push_back(std::move(chunk));
  if (pending_) return false;
  skipped_ += reader_->skipped();
  reader_.reset();
  return true;
}

void TraceRows::check_order(const TraceRow& row) {
  if (!options_.keep_times || !row.arrival_s) return;
  if (!options_.any_order && *row.arrival_s < last_arrival_s_)
    reader_->refuse(row, "arrival",
                    fmt::format("{} s is before the previous row's {} s; to sort: dooly workload convert "
                                "--sort {}",
                                *row.arrival_s, last_arrival_s_, options_.path.string()));
  if (timed_rows_++ == 0) first_arrival_s_ = *row.arrival_s;
  last_arrival_s_ = *row.arrival_s;
}

void TraceRows::append(Chunk& chunk, const TraceRow& row) {
  check_order(row);
  chunk.prompt.push_back(row.prompt_tokens);
  chunk.output.push_back(row.output_tokens);
  if (options_.keep_times) chunk.arrival_s.push_back(row.arrival_s.value_or(kNoTime));
  append_optional(chunk, row);
  if (columns_.session) append_session(chunk, row);
}

void TraceRows::append_optional(Chunk& chunk, const TraceRow& row) {
  if (columns_.id && row.id) {
    if (!ids_.insert(*row.id)) reader_->refuse(row, "id", fmt::format("{} is taken by an earlier row", *row.id));
    if (chunk.id.size() + 1 != chunk.rows()) reader_->refuse(row, "id", "where one row has an id, all need one");
    chunk.id.push_back(*row.id);
  } else if (!chunk.id.empty()) {
    reader_->refuse(row, "id", "missing: where one row has an id, all need one");
  }
  if (columns_.request_class) {
    const bool own = !context_.class_is_forced && !row.class_name.empty();
    chunk.request_class.push_back(own ? context_.classes->index_of(row.class_name) : default_class_);
  }
  if (columns_.priority) chunk.priority.push_back(row.priority.value_or(context_.priority));
  if (row.deadline_s && !options_.keep_times)
    reader_->refuse(row, "deadline_s", "`arrivals` cannot replace times with deadlines");
  if (columns_.deadline) chunk.deadline_s.push_back(row.deadline_s.value_or(0));
  if (columns_.prefix) {
    chunk.prefix_id.push_back(row.prefix_id ? context_.numbers(*row.prefix_id) : kNoPrefix);
    chunk.prefix_tokens.push_back(row.prefix_tokens);
  }
  if (columns_.blocks) {
    chunk.block_begin.push_back(static_cast<std::uint32_t>(chunk.block_ids.size()));
    chunk.block_size.push_back(row.block_size);
    for (const std::uint64_t id : row.block_ids) chunk.block_ids.push_back(context_.numbers(id));
    if (chunk.block_ids.size() > 0xFFFFFFFFULL) throw WorkloadError(options_.path.string() + ": too many block ids");
  }
}

/// Checks the turn against the session's last one and links the two.
void TraceRows::append_session(Chunk& chunk, const TraceRow& row) {
  const std::uint64_t number = chunk.base + chunk.rows() - 1;
  chunk.session.push_back(row.session.value_or(kNoSession));
  chunk.after_s.push_back(row.after_s.value_or(-1));
  chunk.next_turn.push_back(0);
  chunk.turn.push_back(0);
  chunk.closed.push_back(0);
  if (!row.session) return;
  max_session_ = std::max(max_session_, *row.session);
  const std::uint32_t tokens = row.prompt_tokens + row.output_tokens;
  const auto [found, is_first] = sessions_.try_emplace(
      *row.session, SessionState{row.turn.value_or(0), number, tokens, SessionState::Kind::kUnknown});
  if (is_first) {
    if (row.turn.value_or(0) > 1)
      reader_->refuse(row, "turn", fmt::format("session {} starts with turn {}", *row.session, *row.turn));
    if (!row.arrival_s && options_.keep_times)
      reader_->refuse(row, "arrival_s", fmt::format("missing in the first turn of session {}", *row.session));
    chunk.turn.back() = row.turn.value_or(0);
    if (row.after_s) found->second.kind = SessionState::Kind::kClosed;
    chunk.closed.back() = row.after_s ? 1 : 0;
    return;
  }
  SessionState& state = found->second;
  const std::uint32_t turn = row.turn.value_or(state.turn + 1);
  if (turn != state.turn + 1)
    reader_->refuse(row, "turn",
                    fmt::format("want turn {} of session {}, have {}", state.turn + 1, *row.session, turn));
  if (row.arrival_s && row.after_s)
    reader_->refuse(row, "after_s", "a later turn has either an arrival_s or an after_s, not both");
  if (row.prompt_tokens < state.tokens && !columns_.truncated && row.after_s)
    reader_->refuse(row, "prompt_tokens",
                    fmt::format("a later turn's prompt holds the whole conversation so far, at least "
                                "{} tokens, got {}",
                                state.tokens, row.prompt_tokens));
  const auto kind = row.after_s ? SessionState::Kind::kClosed : SessionState::Kind::kOpen;
  if (state.kind != SessionState::Kind::kUnknown && state.kind != kind)
    reader_->refuse(row, "after_s", fmt::format("session {} has turns with and turns without after_s", *row.session));
  if (row.after_s && !options_.keep_times)
    reader_->refuse(row, "after_s", "`arrivals` cannot replace the times of sessions whose turns wait for each other");
  chunk.turn.back() = turn;
  if (row.after_s) {
    if (state.row < chunk.base)
      reader_->refuse(row, "session",
                      fmt::format("in a file of this size the turns of a session stand together; to sort: "
                                  "dooly workload convert --sort {}",
                                  options_.path.string()));
    chunk.next_turn[state.row - chunk.base] = static_cast<std::uint32_t>(number - chunk.base) + 1;
    chunk.closed.back() = 1;
    chunk.closed[state.row - chunk.base] = 1;
  }
  state = {turn, number, tokens, kind};
}

/// What later passes are shifted by: the span of the arrivals plus one mean gap, so that the rate stays.
void TraceRows::end_pass() {
  const double span = timed_rows_ > 0 ? last_arrival_s_ - first_arrival_s_ : 0;
  const auto n = static_cast<double>(timed_rows_);
  period_s_ = timed_rows_ > 1 ? span * (n / (n - 1)) / options_.speedup : 0;
  session_stride_ = max_session_ + 1;
}

const TraceRows::Chunk& TraceRows::chunk_of(std::uint64_t row) const {
  if (whole_) return chunks_.front();
  auto at =
      std::upper_bound(chunks_.begin(), chunks_.end(), row, [](std::uint64_t r, const Chunk& c) { return r < c.base; });
  return *--at;
}

/// Moves to the first row of the next pass. False: that was the last one.
bool TraceRows::next_pass(Position& at) {
  if (at.pass + 1 >= options_.loop) return false;
  ++at.pass;
  if (whole_) {
    at.row = 0;
    return true;
  }
  if (at.pass == 1) end_pass();
  open();
  load(kChunkRows, options_.kept_block_ids);
  return true;
}

void TraceRows::advance() {
  Position at = *head_;
  do {
    if (++at.row < loaded_) continue;
    if (reader_ != nullptr) {
      load(kChunkRows, options_.kept_block_ids);
      drop_used_chunks();
    } else if (!next_pass(at)) {
      head_.reset();
      return;
    }
  } while (waits(at));
  head_ = at;
}

/// The chunk before the head's stays: its ids may be in the hands of whoever took the last row.
void TraceRows::drop_used_chunks() {
  if (whole_) return;
  while (chunks_.size() > 2 && chunks_.front().holds == 0) chunks_.pop_front();
}

void TraceRows::hold(Position at, int change) {
  if (!whole_) const_cast<Chunk&>(chunk_of(at.row)).holds += change;
}

bool TraceRows::waits(Position at) const {
  const Chunk& chunk = chunk_of(at.row);
  return !chunk.arrival_s.empty() && std::isnan(chunk.arrival_s[at.row - chunk.base]);
}

double TraceRows::arrival_s(Position at) const {
  const Chunk& chunk = chunk_of(at.row);
  const double shift = at.pass == 0 ? 0 : static_cast<double>(at.pass) * period_s_;
  return chunk.arrival_s[at.row - chunk.base] / options_.speedup + shift;
}

double TraceRows::after_s(Position at) const {
  const Chunk& chunk = chunk_of(at.row);
  return chunk.after_s[at.row - chunk.base] / options_.speedup;
}

std::uint64_t TraceRows::id(Position at) const {
  const Chunk& chunk = chunk_of(at.row);
  return chunk.id.empty() ? at.row : chunk.id[at.row - chunk.base];
}

std::optional<TraceRows::Position> TraceRows::next_turn(Position at) const {
  const Chunk& chunk = chunk_of(at.row);
  if (chunk.next_turn.empty() || chunk.next_turn[at.row - chunk.base] == 0) return std::nullopt;
  return Position{chunk.base + chunk.next_turn[at.row - chunk.base] - 1, at.pass};
}

std::uint32_t TraceRows::limit_of(std::uint16_t request_class) const {
  constexpr std::uint32_t kUnknown = 0xFFFFFFFFU;
  if (request_class >= max_model_len_.size()) max_model_len_.resize(request_class + 1U, kUnknown);
  std::uint32_t& limit = max_model_len_[request_class];
  if (limit == kUnknown)
    limit = context_.max_model_len ? context_.max_model_len(context_.classes->names()[request_class]) : 0;
  return limit;
}

void TraceRows::fill(Request& into, Position at) const {
  const Chunk& chunk = chunk_of(at.row);
  const std::size_t i = at.row - chunk.base;
  into.prompt_tokens = chunk.prompt[i];
  into.output_tokens = chunk.output[i];
  into.request_class = chunk.request_class.empty() ? default_class_ : chunk.request_class[i];
  into.priority = chunk.priority.empty() ? context_.priority : chunk.priority[i];
  into.truncated = false;
  if (options_.truncate) truncate(into, limit_of(into.request_class));
  into.deadline_s = chunk.deadline_s.empty() ? 0 : chunk.deadline_s[i];
  const bool moved = options_.speedup != 1 || at.pass > 0;
  if (into.deadline_s > 0 && moved && !waits(at))
    into.deadline_s = arrival_s(at) + (into.deadline_s - chunk.arrival_s[i]);
  into.session = kNoSession;
  into.turn = 0;
  into.after_s = -1;
  clear_content(into);
  if (!chunk.block_begin.empty()) {
    const std::size_t begin = chunk.block_begin[i];
    const std::size_t end = i + 1 < chunk.block_begin.size() ? chunk.block_begin[i + 1] : chunk.block_ids.size();
    if (end > begin) set_blocks(into, {chunk.block_ids.data() + begin, end - begin}, chunk.block_size[i]);
  }
  if (!chunk.prefix_id.empty() && chunk.prefix_id[i] != kNoPrefix)
    set_prefix(into, chunk.prefix_id[i], chunk.prefix_tokens[i]);
  if (chunk.session.empty() || chunk.session[i] == kNoSession) return;
  into.session = context_.numbers(chunk.session[i] + at.pass * session_stride_);
  into.turn = chunk.turn[i];
  const bool closed = chunk.closed[i] != 0;
  if (closed) into.after_s = waits(at) ? after_s(at) : 0;
  if (into.block_size == 0) append_conversation(into, closed);
}

}  // namespace dooly::workload
