#pragma once

#include <cstdint>

namespace dooly::workload {

/// Which of the optional fields a stream or file may hold.
struct TraceColumns {
  bool arrival = true;
  bool id = false;
  bool request_class = false;
  bool priority = false;
  bool session = false;
  bool after = false;
  bool deadline = false;
  bool prefix = false;
  bool blocks = false;
  std::uint32_t block_size = 0;  ///< of all rows; 0: rows may differ
  bool truncated = false;  ///< prompts may have been cut, so that a conversation need not grow from turn to turn

  /// What both together may hold.
  TraceColumns operator|(const TraceColumns& other) const;
};

}  // namespace dooly::workload
