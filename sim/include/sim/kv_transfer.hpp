#pragma once

#include "replica_core/replica_request.hpp"
#include "sim/network.hpp"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace dooly::sim {

/// How long a request's KV took to move.
struct KvTransferTimes {
  double wait_s = 0;      ///< from the end of the prefill until blocks were reserved on the decode side
  double transfer_s = 0;  ///< from then until the last byte arrived; 0 if nothing had to move
  std::uint64_t bytes = 0;
};

/// What transfers do to the simulation around them. Calls come at their time, in order: the decode side may run before
/// the prefill side gives its blocks back.
class KvTransferClient {
 public:
  virtual ~KvTransferClient() = default;
  /// Replica::load_finished on the decode side.
  virtual void load_finished(std::uint32_t decode_replica, replica::RequestTag request, double now_s) = 0;
  /// Replica::release_held on the prefill side.
  virtual void release_held(std::uint32_t prefill_replica, replica::RequestTag request, double now_s) = 0;
  /// The transfer is over and forgotten.
  virtual void transferred(replica::RequestTag request, const KvTransferTimes& times, double now_s) = 0;
};

/// The KV of requests on its way from prefill to decode replicas, one flow a request. The order in a request's life:
/// offer, then either load_started (blocks are reserved, the flow begins) or not_needed. A request that cannot get
/// blocks simply stays offered. Keeps nothing of finished requests.
///
/// Misuse (an unknown request, a second offer) throws std::logic_error with the request.
class KvTransfers final : private FlowListener {
 public:
  enum class Stage : std::uint8_t { kOffered, kMoving };
  struct Open {
    replica::RequestTag request;
    Stage stage;
    std::uint32_t prefill_replica;
    std::uint32_t decode_replica;  ///< while kMoving
    double since_s;                ///< when the stage began
  };

  /// Both must outlive this.
  KvTransfers(Network& network, KvTransferClient& client) : network_(network), client_(client) {}

  /// The prefill is done at `ready_s` and its blocks are held.
  void offer(replica::RequestTag request, std::uint32_t prefill_replica, double ready_s);
  /// ReplicaObserver::load_started on the decode side: blocks are reserved for `bytes` of KV that have to move, all
  /// layers and ranks together.
  void load_started(replica::RequestTag request, std::uint32_t decode_replica, std::uint64_t bytes, double now_s);
  /// The decode side holds all of the KV already: nothing moves, the prefill side's blocks go.
  void not_needed(replica::RequestTag request, double now_s);

  bool is_offered(replica::RequestTag request) const;
  std::size_t size() const { return moves_.size(); }
  /// Everything that is not over yet, by request; for reports of what hangs.
  std::vector<Open> open() const;

 private:
  struct Move {
    double ready_s;
    double reserved_s;
    std::uint64_t bytes;  ///< while kMoving
    std::uint32_t prefill_replica;
    std::uint32_t decode_replica;
    Stage stage;
  };
  void flow_ended(std::uint64_t tag, double now_s) override;
  Move& offered(replica::RequestTag request);

  Network& network_;
  KvTransferClient& client_;
  std::unordered_map<replica::RequestTag, Move> moves_;  ///< never iterated where order shows
};

}  // namespace dooly::sim
