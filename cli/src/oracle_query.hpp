#pragma once

#include "oracle/latency_oracle.hpp"

#include <string>
#include <string_view>

namespace dooly::cli {

/// Answers one line of the query mode: a JSON object with `prefill` (list of {query, context}), `decode` (list of
/// {context, count}), `shared` (list of {tokens, count}: KV blocks, by tokens, and the requests that hold each),
/// `sustained` and `id`, all optional. Without a line break. A line that is wrong answers
/// {"id":…,"error":…}; it never throws for what the line says.
std::string answer_query(const oracle::LatencyOracle& oracle, std::string_view line);

}  // namespace dooly::cli
