#include "oracle_store/links.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle_store/record_set.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

namespace dooly::store {

CommRecord links_record(const oracle::Environment& environment, const LinkTexts& links) {
  nlohmann::json table{{"gpu", environment.gpu}, {"topology", environment.topology}};
  std::string name = environment.gpu;
  if (!links.empty()) {
    nlohmann::json rows = nlohmann::json::array();
    for (std::size_t i = 0; i < links.size(); ++i) {
      nlohmann::json& row = rows.emplace_back(nlohmann::json::array());
      for (std::size_t j = 0; j < links.size(); ++j)
        row.push_back(i == j ? "" : links.at(std::min(i, j)).at(std::max(i, j)));
    }
    table["gpus"] = links.size();
    table["links"] = std::move(rows);
    name += fmt::format(" x{}", links.size());
  }
  return CommRecord{{name + ", " + environment.topology, oracle::canonical_form(table.dump(), "links")}};
}

void add_links(RecordSet& records) {
  std::vector<CommRecord> found;
  const auto stream = records.stream("");
  for (Record record; stream->next(record);)
    if (const auto* environment = std::get_if<EnvironmentRecord>(&record);
        environment != nullptr && !environment->environment.topology.empty())
      found.push_back(links_record(environment->environment));
  for (CommRecord& record : found) records.put(std::move(record));
}

}  // namespace dooly::store
