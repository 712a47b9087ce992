#pragma once

#include "id_set.hpp"
#include "part.hpp"
#include "workload/trace_reader.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace dooly::workload {

/// The rows of a trace, one after another, `loop` times over. A file of up to about a million rows is parsed once and
/// kept in compact form; of a larger one only the rows in use are in memory and every pass reads it again.
class TraceRows {
 public:
  struct Options {
    std::filesystem::path path;
    std::string format;
    std::uint64_t limit = kNoLimit;  ///< rows of the file
    std::uint64_t loop = 1;
    double speedup = 1;
    bool truncate = false;
    bool keep_times = true;   ///< false: the file's times do not count and need no order
    bool any_order = false;   ///< rows may stand in any order (for sorting them); all are kept in memory
    std::size_t kept_rows = std::size_t{1} << 20;      ///< up to so many rows and ids a file is kept
    std::size_t kept_block_ids = std::size_t{1} << 23;
  };
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};

  /// A row in one pass over the file. Of a file that is not kept, rows count on from pass to pass.
  struct Position {
    std::uint64_t row = 0;
    std::uint64_t pass = 0;
    std::uint64_t packed() const { return pass << 32 | row; }
    static Position unpack(std::uint64_t packed) { return {packed & 0xFFFFFFFFU, packed >> 32}; }
  };

  TraceRows(const Options& options, const PartContext& context);

  /// The next row that does not wait for another one's end: nullopt at the end of the last pass.
  const std::optional<Position>& head() const { return head_; }
  void advance();

  double arrival_s(Position at) const;  ///< of a row with a time of its own
  std::uint64_t id(Position at) const;  ///< the row's own, or its number
  std::optional<Position> next_turn(Position at) const;
  double after_s(Position at) const;  ///< of a later turn
  bool waits(Position at) const;      ///< the row is a later turn, sent after the end of the one before
  /// All but arrival, id and ticket. `at` need not be the head, but its row must be in use still.
  void fill(Request& into, Position at) const;
  /// Rows that wait for the end of another one hold their part of the file in memory until they are released.
  void hold(Position at, int change);

  const TraceColumns& columns() const { return columns_; }
  std::uint64_t rows_in_all() const { return expected_; }  ///< 0: not known
  bool has_own_ids() const { return columns_.id && options_.loop == 1; }
  const std::filesystem::path& path() const { return options_.path; }
  std::uint64_t skipped() const { return reader_ != nullptr ? reader_->skipped() : skipped_; }

 private:
  /// Some consecutive rows, by column; columns that the file lacks are empty.
  struct Chunk {
    std::uint64_t base = 0;
    int holds = 0;
    std::vector<double> arrival_s, after_s, deadline_s;
    std::vector<std::uint32_t> prompt, output, turn, prefix_tokens, next_turn, block_begin, block_size;
    std::vector<std::uint16_t> request_class;
    std::vector<std::int32_t> priority;
    std::vector<std::uint64_t> id, session, prefix_id, block_ids;
    std::vector<char> closed;  ///< the row belongs to a session whose turns wait for each other
    std::size_t rows() const { return prompt.size(); }
  };
  struct SessionState {
    std::uint32_t turn;
    std::uint64_t row;
    std::uint32_t tokens;  ///< prompt and output of the latest turn
    enum class Kind : std::uint8_t { kUnknown, kOpen, kClosed } kind;  ///< closed: a turn waits for the one before
  };

  void open();
  bool load(std::size_t rows, std::size_t block_ids);
  void append(Chunk& chunk, const TraceRow& row);
  void append_optional(Chunk& chunk, const TraceRow& row);
  void append_session(Chunk& chunk, const TraceRow& row);
  void check_order(const TraceRow& row);
  bool waits_for_a_turn(const TraceRow& row) const { return row.after_s && !row.arrival_s; }
  void end_pass();
  bool next_pass(Position& at);
  const Chunk& chunk_of(std::uint64_t row) const;
  void drop_used_chunks();
  std::uint32_t limit_of(std::uint16_t request_class) const;

  Options options_;
  PartContext context_;
  mutable std::vector<std::uint32_t> max_model_len_;  ///< by class, looked up once
  std::uint16_t default_class_;
  std::unique_ptr<TraceReader> reader_;  ///< null: at the end of the file
  TraceRow row_;
  bool pending_ = false;                 ///< row_ is read but in no chunk yet
  TraceColumns columns_;
  std::deque<Chunk> chunks_;
  bool whole_ = false;  ///< the file is in one chunk that stays
  std::uint64_t loaded_ = 0;      ///< rows of all chunks so far
  std::uint64_t pass_rows_ = 0;   ///< rows of this pass so far
  std::uint64_t expected_ = 0;
  std::uint64_t skipped_ = 0;
  std::optional<Position> head_;

  // Over the rows of one pass.
  double last_arrival_s_ = -kNever;
  std::uint64_t timed_rows_ = 0;
  double first_arrival_s_ = 0;
  IdSet ids_;
  std::unordered_map<std::uint64_t, SessionState> sessions_;
  std::uint64_t max_session_ = 0;

  // Between passes.
  double period_s_ = 0;
  std::uint64_t session_stride_ = 0;
};

}  // namespace dooly::workload
