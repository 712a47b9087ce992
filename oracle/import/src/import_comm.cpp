// Collectives as nccl-tests prints them, and APEX's tables made of such output.
#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// Program or file name -> kind; empty: none of ours.
std::string collective_kind(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  const std::array<std::pair<std::string_view, std::string_view>, 7> words{{{"all_reduce", "all_reduce"},
                                                                            {"all_gather", "all_gather"},
                                                                            {"reduce_scatter", "reduce_scatter"},
                                                                            {"alltoall", "all_to_all"},
                                                                            {"all_to_all", "all_to_all"},
                                                                            {"sendrecv", "send_recv"},
                                                                            {"send_recv", "send_recv"}}};
  for (const auto& [word, kind] : words)
    if (name.find(word) != std::string::npos) return std::string(kind);
  return {};
}

std::string topology_of(const std::string& gpu, std::uint64_t nodes, std::uint64_t per_node) {
  const std::string link = node_link(gpu);
  return nodes > 1 ? fmt::format("{}x{} {} + network", nodes, per_node, link) : link;
}

void add(SampleCollector& collector, const std::string& kind, const std::string& dtype, std::uint64_t ranks,
         std::uint64_t size, const Timing& timing) {
  const std::uint64_t bytes = kind == "all_gather" ? size / ranks : size;  // nccl-tests count the gathered whole
  for (const Key key : collective_keys(collector, kind, dtype, ranks, "nccl").keys)
    collector.add(key, bytes_point(bytes, ranks), timing);
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// One run of an nccl-tests program.
struct Run {
  std::string kind{}, gpu{}, nccl{};
  std::uint64_t ranks = 0;
  std::vector<std::string> hosts{};
};

/// "#  Rank  0 Group  0 Pid  1 on  host device  0 [0x18] NVIDIA H200": host and device follow their words.
void read_rank_line(const std::vector<std::string>& words, Run& run) {
  ++run.ranks;
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on != words.end() && on + 1 != words.end() &&
      std::find(run.hosts.begin(), run.hosts.end(), on[1]) == run.hosts.end())
    run.hosts.push_back(on[1]);
  const auto bracket =
      std::find_if(words.begin(), words.end(), [](const std::string& word) { return word.ends_with(']'); });
  if (bracket == words.end() || !run.gpu.empty()) return;
  for (auto word = bracket + 1; word != words.end(); ++word) run.gpu.append(run.gpu.empty() ? "" : " ").append(*word);
}

void read_comment(const std::string& line, Run& run) {
  const std::vector<std::string> words = words_of(line);
  if (words.size() > 2 && words[1] == "Rank") read_rank_line(words, run);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].ends_with("nccl-tests") || words[i] == "Collective" || words[i] == "test")
      if (const std::string kind = collective_kind(words[i + 1]); !kind.empty()) run.kind = kind;
    if (words[i] == "NCCL" || words[i] == "nccl-library=" || words[i] == "nccl-headers=") {
      if (words[i] == "NCCL" && words[i + 1].find('.') != std::string::npos) run.nccl = words[i + 1];
    }
  }
}

std::string nccl_type(const std::string& word) {
  if (word == "half" || word == "bfloat16" || word == "int8") return word;
  if (word == "float") return "float32";
  if (word == "uint8") return "int8";
  return word;
}

}  // namespace

bool read_nccl_tests(const ProfileFile& file, ImportContext& context) {
  const std::string text = file_bytes(file.path);
  if (text.find("#wrong") == std::string::npos && text.find("algbw") == std::string::npos) {
    context.skip(file.shown, "not the output of nccl-tests");
    return false;
  }
  SampleCollector& collector = context.collector;
  collector.begin_file(file.shown);
  Run run{.kind = collective_kind(file.stem)};
  bool started = false;
  std::uint64_t line_number = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    ++line_number;
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words[0].starts_with('#')) {
      if (const std::string kind = words.size() > 1 ? collective_kind(line) : ""; !kind.empty()) run.kind = kind;
      read_comment(line, run);
      continue;
    }
    const bool is_row = words.size() >= 9 && whole_number(words[0]) && whole_number(words[1]);
    if (!is_row) {
      if (const std::string kind = collective_kind(words[0]); !kind.empty()) run.kind = kind;  // the command line
      continue;
    }
    if (!started) {
      started = true;
      if (run.kind.empty())
        throw ImportError(file.path.string() +
                          ": nothing says which collective ran; name the file after it (all_reduce.txt)");
      if (run.ranks == 0)
        throw ImportError(fmt::format("{}: no '# Rank' lines: the number of ranks is not known", file.path.string()));
      oracle::Environment environment = environment_of(run.gpu, context.options, "nccl-tests", file.path.string());
      if (!run.nccl.empty()) environment.libraries.try_emplace("nccl", run.nccl);
      const std::uint64_t nodes = std::max<std::size_t>(1, run.hosts.size());
      collector.environment(
          with_topology(environment, topology_of(environment.gpu, nodes, run.ranks / nodes), context.options));
    }
    collector.line(line_number);
    // size count type redop root, time algbw busbw #wrong twice: out of place, in place. Older versions have no root.
    std::size_t first = 2;
    while (first < words.size() && !scaled_number(words[first])) ++first;
    if (first < words.size() && words[first].find('.') == std::string::npos && words.size() - first >= 9)
      ++first;  // root
    const auto time = first < words.size() ? scaled_number(words[first], kMicroseconds) : std::nullopt;
    if (!time) {
      collector.drop("not a number", line);
      continue;
    }
    if (first + 3 < words.size() && words[first + 3] != "0" && words[first + 3] != "0e+00" && words[first + 3] != "N/A")
      collector.remark("the run found wrong results", words[first + 3]);
    const std::uint64_t size = *whole_number(words[0]);
    if (size == 0) {
      collector.drop("a message of no bytes", line);
      continue;
    }
    add(collector, run.kind, nccl_type(words[2]), run.ranks, size, single(*time, 0));
  }
  return true;
}

bool read_apex(const ProfileFile& file, ImportContext& context) {
  const std::string kind = collective_kind(file.stem);
  if (kind.empty()) {
    context.skip(file.shown, "not one of the tables that are known");
    return false;
  }
  CsvTable table(file.path);
  SampleCollector& collector = context.collector;
  collector.begin_file(file.shown);
  const auto gpu = table.column("gpu"), dtype = table.column("dtype"), size = table.column("size(kb)"),
             time = table.column("time(us)");
  const auto nodes = table.column("num_nodes"), per_node = table.column("num_gpus_per_node");
  context.note("apex: sizes are whole KiB; those rounded to 0 are dropped");
  while (table.next()) {
    collector.line(table.line());
    const auto node_count = whole_number(table.cell(nodes)), gpus = whole_number(table.cell(per_node)),
               kib = whole_number(table.cell(size));
    const auto seconds = scaled_number(table.cell(time), kMicroseconds);
    if (!node_count || !gpus || !kib || !seconds || *node_count * *gpus < 2) {
      collector.drop("not a number", table.cell(time));
      continue;
    }
    if (*kib == 0) {
      collector.drop("a message of no bytes", "size(kb)=0");
      continue;
    }
    const oracle::Environment environment =
        environment_of(table.cell(gpu), context.options, "apex", file.path.string());
    collector.environment(
        with_topology(environment, topology_of(environment.gpu, *node_count, *gpus), context.options));
    add(collector, kind, std::string(table.cell(dtype)), *node_count * *gpus, *kib * 1024, single(*seconds, 0));
  }
  return true;
}

}  // namespace dooly::import_
