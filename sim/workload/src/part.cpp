#include "part.hpp"

#include "workload/random_stream.hpp"
#include "workload/workload_error.hpp"

#include <algorithm>

namespace dooly::workload {

std::uint16_t ClassTable::index_of(std::string_view name) {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<std::uint16_t>(found - names_.begin());
  if (names_.size() >= 4096) throw WorkloadError("more than 4096 request classes");
  names_.emplace_back(name);
  return static_cast<std::uint16_t>(names_.size() - 1);
}

namespace {

constexpr std::uint64_t kPrefixSpace = 0x7072656669780000ULL;
constexpr std::uint64_t kBlockSpace = 0x626C6F636B000000ULL;
constexpr std::uint64_t kSessionSpace = 0x73657373696F6E00ULL;

}  // namespace

void truncate(Request& request, std::uint32_t limit) {
  if (limit < 2 || request.prompt_tokens + request.output_tokens <= limit) return;
  request.output_tokens = std::min(request.output_tokens, limit - 1);
  request.prompt_tokens = std::min(request.prompt_tokens, limit - request.output_tokens);
  request.truncated = true;
}

void clear_content(Request& request) {
  request.content.clear();
  request.prefix_id = kNoPrefix;
  request.prefix_tokens = 0;
  request.block_size = 0;
  request.block_ids = {};
}

void set_prefix(Request& request, std::uint64_t id, std::uint32_t tokens) {
  request.prefix_id = id;
  request.prefix_tokens = std::min(tokens, request.prompt_tokens);
  request.content.push_back({replica::chain_key(0, 0, mix(id ^ kPrefixSpace), 0), request.prefix_tokens, false});
}

void set_blocks(Request& request, std::span<const std::uint64_t> ids, std::uint32_t size) {
  const std::size_t full = request.prompt_tokens / size;
  const std::size_t all = full + (request.prompt_tokens % size != 0 ? 1 : 0);
  request.block_size = size;
  request.block_ids = ids.first(std::min(ids.size(), all));
  const std::size_t count = std::min(ids.size(), full);
  request.content.resize(count);
  std::uint64_t key = 0;
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    key = replica::chain_key(key, end, ids[i] ^ kBlockSpace, 0);
    end += size;
    request.content[i] = {key, end, false};
  }
}

void append_conversation(Request& request, bool exclusive) {
  const std::uint64_t parent = request.content.empty() ? 0 : request.content.back().key;
  const std::uint32_t begin = request.content.empty() ? 0 : request.content.back().end_token;
  request.content.push_back({replica::chain_key(parent, begin, mix(request.session ^ kSessionSpace), 0),
                             replica::ContentSegment::kOpenEnd, exclusive});
}

}  // namespace dooly::workload
