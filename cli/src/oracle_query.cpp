#include "oracle_query.hpp"

#include "batch_text.hpp"
#include "cost_text.hpp"

#include "oracle/json_fault.hpp"
#include "oracle/oracle_error.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <stdexcept>

namespace dooly::cli {
namespace {

using nlohmann::json;

class BadQuery : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

constexpr std::uint64_t kMost = 1u << 24;
constexpr int kDeepest = 64;  // levels of a line; printing an id costs stack for each

/// Throws json::exception, and BadQuery for a name that stands twice.
json parsed(std::string_view line) {
  const std::string fault = oracle::json_fault(line, kDeepest);
  if (!fault.empty()) throw BadQuery(fault);
  return json::parse(line);
}

void allow_only(const json& object, const std::string& where, std::initializer_list<std::string_view> names) {
  if (!object.is_object()) throw BadQuery(where + ": must be an object");
  for (const auto& [name, value] : object.items())
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw BadQuery((where.empty() ? "" : where + ".") + name + ": unknown member");
}

std::uint64_t whole(const json& object, const std::string& where, const char* name, std::uint64_t least,
                    std::optional<std::uint64_t> fallback) {
  const auto found = object.find(name);
  if (found == object.end()) {
    if (fallback) return *fallback;
    throw BadQuery(where + "." + name + ": missing");
  }
  if (!found->is_number_unsigned() || found->get<std::uint64_t>() < least || found->get<std::uint64_t>() > kMost)
    throw BadQuery(where + "." + name + ": must be a whole number from " + std::to_string(least) + " to " +
                   std::to_string(kMost) + ", got " + found->dump());
  return found->get<std::uint64_t>();
}

template <typename Take>
void each(const json& query, const char* name, Take take) {
  const auto found = query.find(name);
  if (found == query.end()) return;
  if (!found->is_array()) throw BadQuery(std::string(name) + ": must be a list");
  for (std::size_t i = 0; i < found->size(); ++i) take((*found)[i], std::string(name) + "[" + std::to_string(i) + "]");
}

BatchOnPaper batch_of(const json& query) {
  BatchOnPaper batch;
  std::uint64_t tokens = 0;
  const auto count_tokens = [&](std::uint64_t more, const std::string& where) {
    if ((tokens += more) > kMost) throw BadQuery(where + ": more than " + std::to_string(kMost) + " tokens");
  };
  each(query, "prefill", [&](const json& item, const std::string& where) {
    allow_only(item, where, {"query", "context"});
    const std::uint64_t tokens_here = whole(item, where, "query", 1, {});
    count_tokens(tokens_here, where);
    batch.add_prefill(static_cast<std::uint32_t>(tokens_here),
                      static_cast<std::uint32_t>(whole(item, where, "context", 0, 0)));
  });
  each(query, "decode", [&](const json& item, const std::string& where) {
    allow_only(item, where, {"context", "count"});
    const std::uint64_t count = whole(item, where, "count", 1, 1);
    count_tokens(count, where);
    if (!batch.add_decodes(count, whole(item, where, "context", 0, {})))
      throw BadQuery(where + ": the sum of squares of all contexts must stay below 2^64");
  });
  each(query, "shared", [&](const json& item, const std::string& where) {
    allow_only(item, where, {"tokens", "count"});
    const std::uint64_t count = whole(item, where, "count", 2, {});
    batch.add_shared(count, whole(item, where, "tokens", 1, {}));
  });
  if (const std::string fault = batch.shared_fault(); !fault.empty()) throw BadQuery("shared: " + fault);
  return batch;
}

double sustained_of(const json& query) {
  const auto found = query.find("sustained");
  if (found == query.end()) return 0;
  if (!found->is_number() || !(found->get<double>() >= 0 && found->get<double>() <= 1))
    throw BadQuery("sustained: must be a number from 0 to 1, got " + found->dump());
  return found->get<double>();
}

}  // namespace

std::string answer_query(const oracle::LatencyOracle& oracle, std::string_view line) {
  std::string id = "null";
  const auto refused = [&](const std::string& what) {
    return "{\"id\":" + id + ",\"error\":" + json(what).dump(-1, ' ', false, json::error_handler_t::replace) + "}";
  };
  try {
    const json query = parsed(line);
    if (!query.is_object()) return refused("not a JSON object");
    if (const auto found = query.find("id"); found != query.end())
      id = found->dump(-1, ' ', false, json::error_handler_t::replace);
    allow_only(query, "", {"id", "prefill", "decode", "shared", "sustained"});
    const BatchOnPaper batch = batch_of(query);
    return cost_json(oracle.cost(batch.batch(), {sustained_of(query)}), id);
  } catch (const json::exception&) {
    return refused("not a JSON object");
  } catch (const BadQuery& error) {
    return refused(error.what());
  } catch (const oracle::OracleError& error) {
    return refused(error.what());
  }
}

}  // namespace dooly::cli
