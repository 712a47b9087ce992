// What a file's content says about the program that wrote it.
#include "csv_table.hpp"
#include "files_below.hpp"
#include "oracle_import/import_profile.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>

namespace dooly::import_ {
namespace {

using Names = std::set<std::string_view>;

constexpr std::string_view kSqlite{"SQLite format 3\0", 16};

/// Names of columns that no other format has together.
struct Header {
  std::string_view format;
  std::array<std::string_view, 3> columns;
};
constexpr std::array kHeaders{
    Header{"aiconfigurator", {"framework", "op_name", "kernel_source"}},
    Header{"apex", {"num_gpus_per_node", "size(kb)", "time(us)"}},
    Header{"frontier", {"time_stats.moe_gating.median", "", ""}},
    Header{"infersim", {"latency_us", "mfu", ""}},
    Header{"infersim", {"chunk_gdn", "chunk_o", "conv"}},
    Header{"llmservingsim", {"layer", "tokens", "time_us"}},
    Header{"llmservingsim", {"layer", "sequences", "time_us"}},
    Header{"llmservingsim", {"prefill_chunk", "n_decode", "time_us"}},
    Header{"llmservingsim", {"tokens", "activated_experts", "time_us"}},
    Header{"llmservingsim", {"kv_big", "t_skew_us", "alpha"}},
    Header{"llmservingsim", {"skew_rate_label", "kv_big_label", "alpha"}},
    Header{"llmservingsim-v0", {"layer_name", "tp_size", "latency(ns)"}},
    Header{"splitwise", {"prompt_size", "token_size", "prompt_time"}},
    Header{"vidur", {"sampler_launch_mean", "schedule_mean", "batch_size"}},
    Header{"vidur", {"time_stats.all_reduce.median", "num_workers", ""}},
    Header{"vidur", {"time_stats.send_recv.median", "num_workers", ""}},
};

Names by_header(const std::set<std::string, std::less<>>& columns) {
  const auto has = [&](std::string_view column) { return column.empty() || columns.contains(column); };
  for (const Header& header : kHeaders)
    if (std::all_of(header.columns.begin(), header.columns.end(), has)) return {header.format};
  // Vidur's tables of layers, which others took over as they are.
  if (has("time_stats.attn_prefill.median")) return {"frontier", "llmservingsim-v0", "vidur"};
  const bool has_times = std::any_of(columns.begin(), columns.end(),
                                     [](const std::string& column) { return column.starts_with("time_stats."); });
  return has_times ? Names{"frontier", "vidur"} : Names{};
}

std::set<std::string, std::less<>> columns_of(std::string_view line) {
  std::set<std::string, std::less<>> columns;
  while (line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(','), line.size());
    columns.emplace(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return columns;
}

Names of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(kSqlite.size(), '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head == kSqlite) return {"dooly-sqlite"};
  const std::string text = file_bytes(path);
  if (text.find('\0') != std::string::npos) return {};
  if (text.find("algbw") != std::string::npos && text.find("busbw") != std::string::npos) return {"nccl-tests"};
  return by_header(columns_of(std::string_view(text).substr(0, text.find('\n'))));
}

bool may_be_a_table(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  if (name.extension() == ".gz") name = name.stem();
  constexpr std::array<std::string_view, 7> kEndings{".csv", ".txt", ".log", ".out", ".db", ".sqlite", ".sqlite3"};
  return std::find(kEndings.begin(), kEndings.end(), name.extension().string()) != kEndings.end();
}

}  // namespace

std::vector<std::string_view> possible_formats(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    const Names names = of_file(path);
    return {names.begin(), names.end()};
  }
  Names all;
  bool any = false;
  for (const std::filesystem::path& file : files_below(path)) {
    if (!may_be_a_table(file)) continue;
    const Names names = of_file(file);
    if (names.empty()) continue;  // something that lies beside
    Names both;
    std::set_intersection(all.begin(), all.end(), names.begin(), names.end(), std::inserter(both, both.end()));
    all = any ? both : names;
    any = true;
  }
  return {all.begin(), all.end()};
}

}  // namespace dooly::import_
