#pragma once

#include "replica_core/content.hpp"
#include "replica_core/engine_config.hpp"
#include "replica_core/replica_request.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dooly::golden {

/// One decision log of vLLM's scheduler: JSON lines (gzip or plain) with a header, a row per engine step and an end
/// line.
struct GoldenLog {
  struct Request {
    std::uint32_t id = 0;
    std::int64_t at = 0;  ///< scheduling call or microseconds
    replica::ReplicaRequest request;
    std::vector<replica::ContentSegment> content;
    std::uint32_t load_delay = 0;
  };
  struct Clock {
    double base_us = 0, per_token_us = 0, per_1000_context_us = 0, idle_us = 0;
  };
  std::string name;
  replica::EngineConfig config;
  Clock clock;
  bool timed = false;       ///< arrivals by time, not by call
  bool block_ids = false;
  std::size_t waiting_shown = 0;
  std::vector<Request> requests;
  std::vector<nlohmann::json> rows;

  /// Throws std::runtime_error naming file and line.
  static GoldenLog read(const std::filesystem::path& path);
};

}  // namespace dooly::golden
