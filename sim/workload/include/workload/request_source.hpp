#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "replica_core/content.hpp"
#include "workload/trace_columns.hpp"

namespace dooly::workload {

inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr std::uint64_t kNoSession = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kNoPrefix = std::numeric_limits<std::uint64_t>::max();

/// Names a request to the source that waits for its end; opaque to everybody else.
enum class Ticket : std::uint64_t {};
inline constexpr Ticket kNoTicket{std::numeric_limits<std::uint64_t>::max()};

/// One request as the client sends it.
struct Request {
  std::uint64_t id = 0;  ///< unique in the stream; the trace's own where it has one, else 0, 1, 2 … in stream order
  double arrival_s = 0;  ///< the client sends; never runs back within the stream
  std::uint32_t prompt_tokens = 0;  ///< at least 1; of a later turn the whole conversation so far
  std::uint32_t output_tokens = 0;  ///< at least 1
  std::uint16_t request_class = 0;  ///< index into RequestSource::classes()
  std::int32_t priority = 0;  ///< lower is more urgent
  std::uint64_t session = kNoSession;
  std::uint32_t turn = 0;  ///< 0-based within the session
  /// Gap after the previous turn's answer at the client; 0 for the first turn of a session whose later turns wait so.
  /// Negative: no turn waits for another.
  double after_s = -1;
  double deadline_s = 0;  ///< absolute; 0: none
  /// The call `RequestSource::finished` is owed exactly when this is not kNoTicket.
  Ticket ticket = kNoTicket;
  bool truncated = false;  ///< the prompt was cut to fit (`too_long: truncate`)

  /// Which leading tokens others may share; never beyond the prompt but for a last open-ended segment.
  replica::ContentPath content;

  // What `content` was made from, for exporting. Block ids and a prefix exclude each other.
  std::uint64_t prefix_id = kNoPrefix;
  std::uint32_t prefix_tokens = 0;
  std::uint32_t block_size = 0;  ///< 0: no block ids
  std::span<const std::uint64_t> block_ids;  ///< the source's own memory: valid until its next call
};

/// How a request ended for its client.
enum class Outcome : std::uint8_t { kCompleted, kRejected, kFailed };

/// A file that a stream was made from.
struct InputFile {
  std::string path;  ///< as the scenario has it
  std::string sha256;  ///< of the bytes on disk
};

/// A stream of requests in order of arrival, which may react to how requests end (closed loops, sessions).
///
/// Use: while `next_arrival_s()` is the earliest event, `take` it. `finished` may bring the next arrival forward, but
/// never before the time it is told. Deterministic: equal calls give equal requests. Not thread-safe.
/// Errors in files throw WorkloadError from the factory, `next_arrival_s` or `take`; the message names file and row.
class RequestSource {
 public:
  virtual ~RequestSource() = default;

  /// Time of the request that `take` would give; kNever if none is known now. Cheap.
  virtual double next_arrival_s() = 0;

  /// Fills every field of `into`; its vectors are reused, so nothing is allocated in the steady state.
  /// Only while next_arrival_s() < kNever.
  virtual void take(Request& into) = 0;

  /// The client of the request that carried `ticket` has its last token, or was refused, at `client_time_s`. Once per
  /// ticket. A session whose turn did not complete ends there; a closed loop sends its next request all the same.
  virtual void finished(Ticket ticket, double client_time_s, Outcome outcome) = 0;

  /// No request will come any more, whatever finishes.
  virtual bool exhausted() = 0;

  /// Class names by index. Grows while requests are taken (traces name their classes as they go); never shrinks.
  virtual std::span<const std::string> classes() const = 0;

  /// How many requests there will be in all where that is known up front, else 0; for progress displays.
  virtual std::uint64_t expected_requests() const = 0;

  /// Which optional fields requests may carry; tells an exporter which columns to write.
  virtual TraceColumns columns() const = 0;

  /// The files read, in order of the scenario, each hashed when this is called.
  virtual std::vector<InputFile> inputs() const = 0;
};

}  // namespace dooly::workload
