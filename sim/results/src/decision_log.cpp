#include "results/decision_log.hpp"

#include <utility>

#include "json_writer.hpp"
#include "results/number_text.hpp"

namespace dooly::results {
namespace {

template <class Item, class Append>
void append_list(std::string& line, std::string_view name, std::span<const Item> items, Append append) {
  line += ",\"";
  line += name;
  line += "\":[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) line += ',';
    append(items[i]);
  }
  line += ']';
}

}  // namespace

DecisionLog::DecisionLog(std::filesystem::path path, const std::vector<std::string>& pools) : sink_(std::move(path)) {
  for (const std::string& pool : pools) pools_.push_back(json_string(pool));
}

void DecisionLog::member(std::string_view name, std::uint64_t value) {
  line_ += ",\"";
  line_ += name;
  line_ += "\":";
  line_ += std::to_string(value);
}

void DecisionLog::add(const DecisionRow& row) {
  line_ = "{\"pool\":";
  line_ += pools_.at(row.pool);
  member("replica", row.replica);
  member("call", row.call);
  line_ += ",\"time_s\":";
  line_ += number_text(row.time_s);
  append_list(line_, "scheduled", row.scheduled, [&](const ScheduledTokens& part) {
    line_ += '[';
    line_ += std::to_string(part.request);
    line_ += ',';
    line_ += std::to_string(part.tokens);
    line_ += ',';
    line_ += std::to_string(part.computed);
    line_ += ']';
  });
  const auto append_id = [&](std::uint64_t id) { line_ += std::to_string(id); };
  append_list(line_, "admitted", row.admitted, append_id);
  append_list(line_, "preempted", row.preempted, append_id);
  member("running", row.running);
  member("waiting", row.waiting);
  member("free_blocks", row.free_blocks);
  append_list(line_, "why", row.why, [&](const std::string& text) { line_ += json_string(text); });
  line_ += "}\n";
  sink_.append(line_);
}

}  // namespace dooly::results
