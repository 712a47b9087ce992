// golden-replay DIR: replays every decision log under DIR through the production replica loop and compares every key
// of every row.
#include "log_replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace {

using dooly::golden::GoldenLog;
using dooly::golden::LogReplay;
using nlohmann::json;

struct Tally {
  std::size_t rows = 0;
  std::size_t differences = 0;
};

/// Rows of one log under one cache; prints the first difference with its context.
Tally replay(const GoldenLog& log, bool with_ids) {
  LogReplay replay(log, with_ids ? dooly::replica::make_block_kv_cache(log.config) : nullptr);
  const bool plain = log.config.groups.size() == 1 && log.config.groups[0].kind == dooly::replica::KvGroup::Kind::kFull;
  const bool compare_ids = with_ids || !plain;
  Tally tally;
  for (const json& want : log.rows) {
    const json got = replay.step(want);
    std::set<std::string> keys;
    for (const auto& [key, value] : want.items()) keys.insert(key);
    for (const auto& [key, value] : got.items()) keys.insert(key);
    for (const std::string& key : keys) {
      if (!compare_ids && (key == "ids" || key == "fq" || key == "fh")) continue;
      const json wanted = want.value(key, json()), found = got.value(key, json());
      if (wanted == found) continue;
      if (tally.differences++ == 0)
        fmt::print("{} ({}): row {} (call {}), key {}:\n  log    {}\n  replay {}\n  row    {}\n", log.name,
                   with_ids ? "block ids" : "production cache", tally.rows, want.value("i", json("-")).dump(), key,
                   wanted.dump().substr(0, 400), found.dump().substr(0, 400), want.dump().substr(0, 600));
    }
    ++tally.rows;
    if (tally.differences > 0) break;  // what follows only repeats it
  }
  return tally;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) == "--help") {
    fmt::print(stderr,
               "usage: golden-replay DIR\nReplays every *.jsonl.gz (or *.jsonl) decision log under DIR through the "
               "production replica loop.\nExit status: 0 no difference, 4 differences, 2 bad usage or input.\n");
    return argc == 2 ? 0 : 2;
  }
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[1], missing)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".jsonl.gz") || name.ends_with(".jsonl")) files.push_back(entry.path());
  }
  if (missing || files.empty()) {
    fmt::print(stderr, "golden-replay: {}: no decision logs found\n", argv[1]);
    return 2;
  }
  std::sort(files.begin(), files.end());
  std::size_t rows = 0, requests = 0, differences = 0;
  for (const auto& file : files) {
    try {
      const GoldenLog log = GoldenLog::read(file);
      const Tally production = replay(log, false);
      const bool plain =
          log.config.groups.size() == 1 && log.config.groups[0].kind == dooly::replica::KvGroup::Kind::kFull;
      const Tally ids = log.block_ids && plain ? replay(log, true) : Tally{};
      const std::size_t found = production.differences + ids.differences;
      fmt::print("{}: {} rows, {} differences\n", log.name, log.rows.size(), found);
      rows += log.rows.size();
      requests += log.requests.size();
      differences += found;
    } catch (const std::exception& problem) {
      fmt::print(stderr, "golden-replay: {}\n", problem.what());
      return 2;
    }
  }
  fmt::print("logs {}, rows {}, requests {}, differences {}\n", files.size(), rows, requests, differences);
  return differences == 0 ? 0 : 4;
}
