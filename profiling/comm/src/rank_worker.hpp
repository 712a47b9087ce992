#pragma once

#include "spin_barrier.hpp"

#include <cstdint>

namespace dooly::profiling {

/// The process of one rank: answers what rank_protocol.hpp names until "quit" or the socket closes. Returns its exit
/// status.
int serve_rank(int socket, std::uint32_t rank, std::uint32_t ranks, SpinBarrier& barrier);

}  // namespace dooly::profiling
