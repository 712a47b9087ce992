#include "golden_log.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <map>
#include <memory>
#include <stdexcept>

namespace dooly::golden {
namespace {

using nlohmann::json;
using replica::ContentSegment;

std::vector<std::string> read_lines(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error(fmt::format("{}: cannot be opened", path.string()));
  std::string text;
  std::vector<char> buffer(1 << 16);
  int got = 0;
  while ((got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(got));
  int status = Z_OK;
  const char* problem = gzerror(file.get(), &status);
  if (got < 0 || status < 0) throw std::runtime_error(fmt::format("{}: {}", path.string(), problem));
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

replica::KvGroup read_group(const json& group) {
  using Kind = replica::KvGroup::Kind;
  const std::string kind = group.at("kind");
  replica::KvGroup out;
  out.block_size = group.at("block_size");
  if (kind == "swa") {
    out.kind = Kind::kSlidingWindow;
    out.window = group.at("window");
  } else if (kind == "local") {
    out.kind = Kind::kChunkedLocal;
    out.window = group.at("chunk");
  } else if (kind != "full") {
    throw std::runtime_error(fmt::format("unknown KV group kind '{}'; allowed: full, swa, local", kind));
  }
  if (!group.at("admission_cap").is_null()) out.admission_cap = group.at("admission_cap");
  return out;
}

replica::EngineConfig read_config(const json& header) {
  const json& scheduler = header.at("scheduler");
  const json& kv = header.at("kv");
  replica::EngineConfig config;
  config.max_num_batched_tokens = scheduler.at("max_num_scheduled_tokens");
  config.max_num_seqs = scheduler.at("max_num_seqs");
  config.max_model_len = scheduler.at("max_model_len");
  config.enable_chunked_prefill = scheduler.at("enable_chunked_prefill");
  config.long_prefill_token_threshold = scheduler.at("long_prefill_token_threshold");
  config.by_priority = scheduler.at("policy") == "priority";
  config.reserve_full_prompt = scheduler.at("scheduler_reserve_full_isl");
  config.async_scheduling = scheduler.at("async_scheduling");
  if (scheduler.at("max_concurrent_batches") != config.depth())
    throw std::runtime_error("max_concurrent_batches other than 1 (synchronous) or 2 (asynchronous) is not modelled");
  config.watermark_blocks = scheduler.at("watermark_blocks");
  config.num_blocks = kv.at("num_blocks");
  config.enable_prefix_caching = kv.at("enable_prefix_caching");
  config.groups.clear();
  for (const json& group : kv.at("groups")) config.groups.push_back(read_group(group));
  config.scheduler_block_size = kv.at("scheduler_block_size");
  config.has_connector = !kv.at("kv_role").is_null();
  config.defer_block_free = kv.at("defer_block_free");
  return config;
}

replica::RemoteKv read_remote(const json& plan, std::uint32_t& delay) {
  using Load = replica::RemoteKv::Load;
  replica::RemoteKv remote;
  const std::string mode = plan.value("mode", "");
  if (mode == "pd") {
    remote.load = Load::kPromptOnce;
  } else if (mode == "async") {
    remote.load = Load::kAlways;
  } else if (mode == "sync") {
    remote.load = Load::kImmediate;
  } else if (!mode.empty() && mode != "none") {
    throw std::runtime_error(fmt::format("unknown connector mode '{}'; allowed: none, pd, async, sync", mode));
  }
  remote.tokens = plan.value("ext", 0U);
  remote.unknown_lookups = plan.value("unknown", 0U);
  remote.hold_blocks = plan.contains("send") && plan.at("send") != json(false) && !plan.at("send").is_null();
  delay = plan.value("delay", 0U);
  return remote;
}

/// Segments of a prompt as chained stretches; output j of request r continues with segment 16384 + r.
std::vector<ContentSegment> read_content(const json& prompt, std::uint32_t id, std::uint32_t& tokens) {
  std::vector<ContentSegment> content;
  std::uint64_t key = 0;
  std::uint32_t last_segment = 0, last_end = 0;
  tokens = 0;
  for (const json& piece : prompt) {
    const std::uint32_t segment = piece.at(0), first = piece.at(1), count = piece.at(2);
    if (count == 0) continue;
    if (!content.empty() && segment == last_segment && first == last_end) {
      content.back().end_token += count;
    } else {
      key = replica::chain_key(key, tokens, segment, first);
      content.push_back({key, tokens + count, false});
    }
    tokens += count;
    last_segment = segment;
    last_end = first + count;
  }
  content.push_back({replica::chain_key(key, tokens, 16384 + std::uint64_t{id}, 0), ContentSegment::kOpenEnd, true});
  return content;
}

/// A stretch that no other prompt contains is exclusive, if nothing shared follows it.
void mark_exclusive(std::vector<GoldenLog::Request>& requests) {
  std::map<std::uint64_t, std::uint32_t> users;
  for (const auto& request : requests)
    for (const ContentSegment& segment : request.content)
      if (segment.end_token != ContentSegment::kOpenEnd) ++users[segment.key];
  for (auto& request : requests)
    for (std::size_t i = request.content.size() - 1; i-- > 0;) {
      if (users[request.content[i].key] > 1) break;
      request.content[i].exclusive = true;
    }
}

GoldenLog::Request read_request(const json& line) {
  GoldenLog::Request out;
  out.id = line.at("id");
  out.at = line.at("at");
  out.request.tag = out.id;
  out.request.sequence = out.id;
  out.content = read_content(line.at("prompt"), out.id, out.request.prompt);
  out.request.output = line.at("out");
  out.request.priority = line.at("prio");
  out.request.arrival_s = static_cast<double>(out.at);
  if (line.contains("kv") && !line.at("kv").is_null()) out.request.remote = read_remote(line.at("kv"), out.load_delay);
  return out;
}

}  // namespace

GoldenLog GoldenLog::read(const std::filesystem::path& path) {
  const std::vector<std::string> lines = read_lines(path);
  GoldenLog log;
  log.name = path.filename().string();
  std::size_t number = 0;
  try {
    for (const std::string& line : lines) {
      ++number;
      json value = json::parse(line);
      if (number == 1) {
        log.config = read_config(value);
        const json& clock = value.at("clock");
        log.clock = {clock.at("base"), clock.at("per_token"), clock.at("per_1000_context"), clock.at("idle")};
        log.timed = value.at("arrivals") == "time";
        log.block_ids = value.at("log").at("block_ids");
        log.waiting_shown = value.at("log").at("waiting");
        for (const json& request : value.at("requests")) log.requests.push_back(read_request(request));
      } else if (!value.contains("type")) {
        log.rows.push_back(std::move(value));
      }
    }
  } catch (const std::exception& problem) {
    throw std::runtime_error(fmt::format("{}:{}: {}", path.string(), number, problem.what()));
  }
  if (number == 0) throw std::runtime_error(fmt::format("{}: empty", path.string()));
  mark_exclusive(log.requests);
  for (Request& request : log.requests) request.request.content = request.content;
  return log;
}

}  // namespace dooly::golden
