#pragma once

#include "replica_core/engine.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace dooly::profiling {

/// Rows of a decision log in the format that golden-replay reads: one a turn of the engine loop.
class DecisionRows {
 public:
  explicit DecisionRows(const replica::Engine& engine) : engine_(engine) {}
  void begin();
  void added(std::uint32_t tag) { row_["add"].push_back(tag); }
  void called();  ///< a scheduling call has been made
  void read(std::span<const replica::ResultEvent> events);
  void end();
  std::vector<std::string> take() { return std::move(rows_); }

 private:
  const replica::Engine& engine_;
  nlohmann::json row_;
  std::uint64_t results_ = 0;
  std::vector<std::string> rows_;
};

}  // namespace dooly::profiling
