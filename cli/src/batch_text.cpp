#include "batch_text.hpp"

#include "cli_error.hpp"

#include <algorithm>
#include <charconv>
#include <string>

namespace dooly::cli {
namespace {

constexpr std::uint64_t kMostRequests = 1u << 20;
constexpr std::uint64_t kMostTokens = 1u << 24;
constexpr std::string_view kShare = " share ";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

[[noreturn]] void refuse(std::string_view term, const std::string& what) {
  throw UsageError("--batch: " + what + ", got '" + std::string(term) +
                   "'; terms are COUNTxQUERY@CONTEXT, as in '2x512@0 + 32x1@1024', and COUNT share TOKENS");
}

std::uint64_t number(std::string_view term, std::string_view digits, const char* name, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || stop != digits.data() + digits.size() || value < least || value > most)
    refuse(term,
           std::string(name) + " must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

}  // namespace

oracle::BatchShape BatchOnPaper::batch() const {
  oracle::BatchShape made = shape;
  made.prefills = chunks;
  return made;
}

bool BatchOnPaper::add_decodes(std::uint64_t count, std::uint64_t context) {
  std::uint64_t squares = 0;
  if (__builtin_mul_overflow(count, context * context, &squares) ||
      __builtin_add_overflow(shape.decode_context_squares, squares, &squares))
    return false;
  contexts_.push_back({context, count});
  shape.decodes += static_cast<std::uint32_t>(count);
  shape.logits_rows += static_cast<std::uint32_t>(count);
  shape.decode_context += count * context;
  shape.decode_context_squares = squares;
  shape.decode_context_cubes += count * context * context * context;  // modulo 2^64, as it is told
  shape.decode_longest = std::max(shape.decode_longest, static_cast<std::uint32_t>(context));
  return true;
}

void BatchOnPaper::add_prefill(std::uint32_t query, std::uint32_t context) {
  chunks.push_back({query, context});
  contexts_.push_back({context, 1});
  shape.prefill_tokens += query;
  ++shape.logits_rows;
}

void BatchOnPaper::add_shared(std::uint64_t count, std::uint64_t tokens) {
  // No batch holds as much; what is beyond is refused and must only not run over.
  constexpr std::uint64_t kBeyond = 1ull << 60;
  most_holders_ = std::max(most_holders_, count);
  shared_.push_back({tokens, count});
  shape.shared_tokens = std::min(kBeyond, shape.shared_tokens + tokens);
  shape.repeated_tokens = std::min(kBeyond, shape.repeated_tokens + tokens * (count - 1));
}

std::string BatchOnPaper::shared_fault() const {
  const std::uint64_t requests = batch().requests();
  if (most_holders_ > requests)
    return std::to_string(most_holders_) + " requests share, the batch has " + std::to_string(requests);
  std::uint64_t held = shape.decode_context;
  for (const oracle::PrefillChunk& chunk : chunks) held += chunk.context;
  if (shape.shared_tokens + shape.repeated_tokens > held)
    return "more tokens are shared than the requests have in their contexts, " + std::to_string(held);
  const auto most_first = [](std::vector<Tokens> list) {
    std::sort(list.begin(), list.end(), [](const Tokens& a, const Tokens& b) { return a.tokens > b.tokens; });
    return list;
  };
  const std::vector<Tokens> contexts = most_first(contexts_);
  std::uint64_t able = 0;
  auto next = contexts.begin();
  for (const Tokens& share : most_first(shared_)) {
    for (; next != contexts.end() && next->tokens >= share.tokens; ++next) able += next->requests;
    if (able < share.requests)
      return std::to_string(share.requests) + " requests share " + std::to_string(share.tokens) + " tokens, and " +
             std::to_string(able) + " have as many in their contexts";
  }
  return {};
}

namespace {

/// A COUNTxQUERY@CONTEXT term into `made`; `requests` and `tokens` count all terms.
void add_requests(BatchOnPaper& made, std::string_view term, std::uint64_t& requests, std::uint64_t& tokens) {
  const std::size_t x = term.find('x'), on = term.find('@');
  if (x == std::string_view::npos || on == std::string_view::npos || on < x) refuse(term, "not a term");
  const std::uint64_t count = number(term, term.substr(0, x), "the count", 1, kMostRequests);
  const std::uint64_t query = number(term, term.substr(x + 1, on - x - 1), "the query", 1, kMostTokens);
  const std::uint64_t context = number(term, term.substr(on + 1), "the context", 0, kMostTokens);
  requests += count;
  tokens += count * query;
  if (requests > kMostRequests || tokens > kMostTokens)
    refuse(term,
           "at most " + std::to_string(kMostRequests) + " requests and " + std::to_string(kMostTokens) + " tokens");
  if (query == 1 && context > 0) {
    if (!made.add_decodes(count, context)) refuse(term, "the sum of squares of all contexts must stay below 2^64");
  } else {
    for (std::uint64_t i = 0; i < count; ++i)
      made.add_prefill(static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(context));
  }
}

}  // namespace

BatchOnPaper parse_batch(std::string_view text) {
  BatchOnPaper made;
  std::uint64_t requests = 0, tokens = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('+', at), text.size());
    const std::string_view term = trimmed(text.substr(at, end - at));
    at = end + 1;
    if (const std::size_t word = term.find(kShare); word != std::string_view::npos) {
      const std::uint64_t count = number(term, trimmed(term.substr(0, word)), "the count", 2, kMostRequests);
      made.add_shared(count, number(term, trimmed(term.substr(word + kShare.size())), "the tokens", 1, kMostTokens));
    } else {
      add_requests(made, term, requests, tokens);
    }
  }
  if (const std::string fault = made.shared_fault(); !fault.empty()) refuse(text, fault);
  return made;
}

}  // namespace dooly::cli
