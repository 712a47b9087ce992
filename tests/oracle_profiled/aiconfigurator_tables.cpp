#include "aiconfigurator_tables.hpp"

#include <gtest/gtest.h>
#include <zlib.h>
#include <map>
#include <string>

namespace dooly::oracle::test {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == ',') {
      out.emplace_back();
    } else if (c != '\r' && c != '\n') {
      out.back() += c;
    }
  }
  return out;
}

template <typename Take>
void each_row(const std::filesystem::path& path, Take take) {
  gzFile file = gzopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr) << path;
  char buffer[4096];
  std::vector<std::string> names;
  while (gzgets(file, buffer, sizeof buffer) != nullptr) {
    const std::vector<std::string> values = cells(buffer);
    if (names.empty()) {
      names = values;
      continue;
    }
    Row row;
    for (std::size_t i = 0; i < names.size() && i < values.size(); ++i) row[names[i]] = values[i];
    take(row);
  }
  gzclose(file);
}

std::uint64_t whole(const Row& row, const char* name) { return std::stoull(row.at(name)); }
double seconds(const Row& row) { return std::stod(row.at("latency")) * 1e-3; }

}  // namespace

std::vector<SampleSet> read_linears(const std::filesystem::path& csv_gz) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<Sample>> by_size;
  each_row(csv_gz, [&](const Row& row) {
    if (row.at("gemm_dtype") == "bfloat16")
      by_size[{whole(row, "k"), whole(row, "n")}].push_back(sample({whole(row, "m")}, seconds(row)));
  });
  std::vector<SampleSet> sets;
  for (auto& [size, samples] : by_size) {
    const OperatorKey key = linear_key({"bfloat16", "bfloat16", "bfloat16"}, size.first, size.second);
    sets.push_back({key, signature_of(key), std::move(samples)});
  }
  return sets;
}

SampleSet read_attention(const std::filesystem::path& folder, std::uint64_t heads, std::uint64_t kv_heads,
                         std::uint64_t head_dim) {
  AttentionWork work;
  work.heads = heads, work.kv_heads = kv_heads, work.head_dim = head_dim;
  SampleSet set;
  set.key = attention_key("bfloat16", "bfloat16", work, "fa3");
  set.signature = signature_of(set.key);
  for (const char* phase : {"context", "generation"}) {
    each_row(folder / (std::string(phase) + "_attention_perf.csv.gz"), [&](const Row& row) {
      if (row.at("attn_dtype") != "bfloat16" || row.at("kv_cache_dtype") != "bfloat16" ||
          row.at("window_size") != "0" || whole(row, "num_heads") != heads ||
          whole(row, "num_key_value_heads") != kv_heads || whole(row, "head_dim") != head_dim)
        return;
      const std::uint64_t batch = whole(row, "batch_size");
      if (*phase == 'c') {
        set.samples.push_back(sample({batch, whole(row, "isl"), 0}, seconds(row)));
      } else {
        set.samples.push_back(sample({0, 0, 0, batch, whole(row, "step")}, seconds(row)));
      }
    });
  }
  return set;
}

}  // namespace dooly::oracle::test
