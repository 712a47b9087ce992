#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dooly::replica {

/// Everything one scheduling call decided, request by request; filled only while somebody records. Requests are named
/// by tag; per-group lists have one entry per KV cache group.
struct CallRecord {
  struct Run {
    std::uint32_t tag;
    std::uint32_t tokens;
    std::uint32_t computed;  ///< before the call
    std::vector<std::uint32_t> new_blocks;
    std::vector<std::vector<std::uint32_t>> ids;  ///< the new ones; empty without block ids
  };
  struct Admission {
    std::uint32_t tag;
    bool resumed;
    std::uint32_t tokens, computed, hit;
    std::vector<std::uint32_t> table, nulls;
    std::vector<std::vector<std::uint32_t>> ids;
  };
  struct Load {
    std::uint32_t tag;
    std::uint32_t hit, remote;
    std::vector<std::uint32_t> table;
    std::vector<std::vector<std::uint32_t>> ids;
  };
  struct Preemption {
    std::uint32_t tag;
    std::uint32_t computed;
    std::vector<std::uint32_t> held;
  };
  std::uint64_t call = 0;
  std::vector<Run> running;
  std::uint64_t running_context = 0;  ///< sum of computed-before over `running`
  std::vector<Admission> admitted;
  std::vector<Load> loads;
  std::vector<Preemption> preempted;
  std::uint32_t tokens = 0;
  std::uint64_t context_after = 0;
  std::uint32_t free_blocks = 0;
  std::uint32_t evicted = 0;
  std::vector<std::uint32_t> common_prefix;
  std::string why;  ///< what the policy explained
};

}  // namespace dooly::replica
