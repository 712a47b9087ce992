#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace dooly::sim {

/// Time of what does not happen.
inline constexpr double kNever = std::numeric_limits<double>::infinity();

/// One-shot events. At equal times they are handled in this order, then by id.
enum class EventKind : std::uint8_t {
  kFlowEnd,    ///< the last byte of a flow has arrived (Fabric)
  kFlowStart,  ///< a flow's path latency has passed (Fabric); the network's clock must stand at this time
  kHandOff,    ///< a request moves on to its next pool
  kAnswer,     ///< a client holds the last token of its request
  kSignal,     ///< a router learns something
};
inline constexpr std::size_t kEventKinds = 5;

struct Event {
  double time_s = 0;
  EventKind kind = EventKind::kSignal;
  std::uint64_t id = 0;     ///< decides between events of one kind at one time; below 2^56
  std::uint64_t value = 0;  ///< for the handler alone
};

/// Handles the events of one or several kinds.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
};

}  // namespace dooly::sim
