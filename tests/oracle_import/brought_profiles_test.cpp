// Profiles that nobody publishes and whoever has the hardware can make: output of nccl-tests, databases of the Dooly
// reference implementation. What must hold for any of them is counted here a second time, by other means than the
// importer's.
#include "profile_folder.hpp"

#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>

namespace dooly::import_ {
namespace {

using test::MemorySamples;

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder, const std::string& extensions) {
  std::vector<std::filesystem::path> paths;
  if (!std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && !entry.path().extension().empty() &&
        (extensions + ".").find(entry.path().extension().string() + ".") != std::string::npos)
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::uint64_t found(const ImportReport& report, const std::string& reason) {
  const auto at = report.findings.find(reason);
  return at == report.findings.end() ? 0 : at->second.count;
}

/// What the table prints a row: bytes -> GB/s out of place. Counted from the end of the line: time, algbw, busbw and
/// #wrong, twice.
std::multimap<std::uint64_t, double> printed_rows(const std::filesystem::path& path) {
  std::multimap<std::uint64_t, double> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words_in(line);
    std::vector<std::string> words;
    for (std::string word; words_in >> word;) words.push_back(word);
    if (words.size() < 11 || words[0].find_first_not_of("0123456789") != std::string::npos) continue;
    rows.emplace(std::stoull(words[0]), std::stod(words[words.size() - 7]));
  }
  return rows;
}

/// A collective's larger messages take longer, and the bandwidth that follows from each time is the one printed.
void expect_bandwidths(const std::vector<oracle::Sample>& samples, std::uint64_t ranks_in_size,
                       const std::multimap<std::uint64_t, double>& printed) {
  ASSERT_FALSE(samples.empty());
  const auto bytes = [](const oracle::Sample& sample) { return sample.point[0]; };
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end(),
                                                 [&](const auto& a, const auto& b) { return bytes(a) < bytes(b); });
  if (bytes(*most) > (64U << 20) && bytes(*least) < (1U << 20)) {
    EXPECT_GT(most->median_s, least->median_s);
  }
  for (const oracle::Sample& sample : samples) {
    const std::uint64_t size = bytes(sample) * ranks_in_size;
    const auto [first, last] = printed.equal_range(size);
    ASSERT_NE(first, last) << "no row of " << size << " bytes";
    if (std::next(first) != last) continue;  // measured again: merged
    const double gb_per_s = static_cast<double>(size) / sample.median_s / 1e9;
    EXPECT_NEAR(gb_per_s, first->second, 0.006 + 0.005 * first->second) << size << " bytes";
  }
}

TEST(BroughtProfile, NcclTests) {
  const auto folder = dooly::test::data_path("data/profiles/nccl-tests");
  const auto files = files_below(folder, ".txt.log.out");
  if (files.empty())
    GTEST_SKIP() << "no *.txt, *.log or *.out in " << folder
                 << ": put there what all_reduce_perf and the like of github.com/NVIDIA/nccl-tests print";
  for (const auto& path : files) {
    SCOPED_TRACE(path);
    const auto printed = printed_rows(path);
    MemorySamples samples;
    const ImportReport report = import_profile("nccl-tests", path, {}, samples);
    EXPECT_EQ(report.rows, printed.size());
    EXPECT_EQ(found(report, "a message of no bytes"), printed.count(0));
    EXPECT_EQ(found(report, "not a number"), 0u);
    EXPECT_EQ(found(report, "zero"), 0u);
    EXPECT_LE(report.suspects, report.samples / 20);
    ASSERT_EQ(samples.environments.size(), 1u);
    EXPECT_FALSE(samples.environments[0].gpu.empty());
    EXPECT_FALSE(samples.environments[0].topology.empty());
    ASSERT_FALSE(samples.by_signature.empty());
    for (const auto& [signature, measured] : samples.by_signature) {
      const auto& [key, points] = measured;
      SCOPED_TRACE(test::operation(key));
      EXPECT_GE(key.dims.at(0), 2u);
      expect_bandwidths(points, key.kind == "all_gather" ? key.dims[0] : 1, printed);
    }
  }
}

/// The one figure that a query answers.
std::uint64_t counted(const std::filesystem::path& path, const std::string& query) {
  sqlite3* opened = nullptr;
  const int status = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
  sqlite3_stmt* prepared = nullptr;
  if (status != SQLITE_OK || sqlite3_prepare_v2(opened, query.c_str(), -1, &prepared, nullptr) != SQLITE_OK) return 0;
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(prepared, sqlite3_finalize);
  return sqlite3_step(prepared) == SQLITE_ROW ? static_cast<std::uint64_t>(sqlite3_column_int64(prepared, 0)) : 0;
}

/// Linears: more rows do not take a third of the time, and none takes longer than a second.
void expect_linear(const std::vector<oracle::Sample>& samples) {
  ASSERT_FALSE(samples.empty());
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end(),
                                                 [](const auto& a, const auto& b) { return a.point[0] < b.point[0]; });
  EXPECT_GT(3 * most->median_s, least->median_s) << least->point[0] << " and " << most->point[0] << " rows";
  for (const oracle::Sample& sample : samples) EXPECT_LT(sample.median_s, 1) << sample.point[0] << " rows";
}

TEST(BroughtProfile, DoolySqlite) {
  const auto folder = dooly::test::data_path("data/profiles/dooly-sqlite");
  const auto files = files_below(folder, ".db.sqlite.sqlite3");
  if (files.empty())
    GTEST_SKIP() << "no *.db or *.sqlite in " << folder << "/GPU/ (a name of `dooly list gpus`): "
                 << "doolyprof.run.run-e2e of github.com/dooly-project/doolyprof writes one on a machine with a GPU";
  for (const auto& path : files) {
    SCOPED_TRACE(path);
    MemorySamples samples;
    const ImportReport report =
        import_profile("dooly-sqlite", path, {.gpu = path.parent_path().filename().string()}, samples);
    const std::uint64_t results =
        counted(path, "SELECT COUNT(*) FROM results r JOIN signatures s ON s.signature_hash = r.signature_hash");
    EXPECT_GT(results, 0u);
    EXPECT_EQ(report.rows, results + counted(path, "SELECT COUNT(*) FROM coll_op_results"));
    EXPECT_EQ(found(report, "not a number"),
              counted(path,
                      "SELECT COUNT(*) FROM results r JOIN signatures s ON s.signature_hash = r.signature_hash "
                      "WHERE mean_latency_ms IS NULL AND median_latency_ms IS NULL"));
    EXPECT_LE(report.suspects, report.samples / 20);
    EXPECT_GT(report.kinds.count("linear"), 0u);
    for (const auto& [signature, measured] : samples.by_signature) {
      SCOPED_TRACE(test::operation(measured.first));
      if (measured.first.kind == "linear") expect_linear(measured.second);
    }
  }
}

}  // namespace
}  // namespace dooly::import_
