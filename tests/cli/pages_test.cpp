// The pages about files name every column and key that the program writes or reads.
#include "dooly_process.hpp"
#include "test_support/test_data.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <regex>
#include <set>
#include <sstream>

namespace dooly::cli {
namespace {

using nlohmann::json;

std::string page(const char* name) { return read_file(test::source_path("docs") / name); }

/// As a whole word, between backticks or inside a longer piece of code.
bool names(const std::string& text, const std::string& word) {
  return std::regex_search(text, std::regex("(^|[^a-z_])" + word + "($|[^a-z_])"));
}

std::set<std::string> columns_of(const std::string& csv) {
  std::istringstream header(csv.substr(0, csv.find('\n')));
  std::set<std::string> columns;
  for (std::string column; std::getline(header, column, ',');) columns.insert(column);
  return columns;
}

void collect_keys(const json& value, std::set<std::string>& keys) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      keys.insert(key);
      if (key != "reasons") collect_keys(member, keys);  // whose keys are sentences
    }
  } else if (value.is_array()) {
    for (const json& item : value) collect_keys(item, keys);
  }
}

TEST(Pages, ResultsNameEveryColumnAndKey) {
  const Scratch scratch;
  const std::string scenario = scratch.file("small.yaml", small_scenario());
  ASSERT_EQ(dooly({"run", scenario, "--quiet", "--out", scratch.name("out"), "--set", "output.iterations=csv", "--set",
                   "output.decisions=jsonl"})
                .code,
            0);
  std::set<std::string> words;
  for (const char* file : {"requests.csv", "iterations.csv"})
    words.merge(columns_of(read_file(scratch / "out" / file)));
  const std::string decisions = read_file(scratch / "out" / "decisions.jsonl");
  collect_keys(json::parse(decisions.substr(0, decisions.find('\n'))), words);
  for (const char* file : {"summary.json", "timing.json"})
    collect_keys(json::parse(read_file(scratch / "out" / file)), words);
  const std::string text = page("results.md");
  EXPECT_GT(words.size(), 100u);
  for (const std::string& word : words) EXPECT_TRUE(names(text, word)) << "docs/results.md lacks " << word;
}

TEST(Pages, TracesNameEveryFormatAndColumn) {
  const std::string text = page("traces.md");
  const ProcessResult formats = dooly({"list", "formats"});
  std::istringstream lines(formats.out);
  for (std::string line; std::getline(lines, line);) {
    const std::string format = line.substr(0, line.find(' '));
    EXPECT_NE(text.find("`" + format + "`"), std::string::npos) << "docs/traces.md lacks format " << format;
  }
  const Scratch scratch;
  const std::string trace = scratch.file("trace.csv", "arrival_s,prompt_tokens,output_tokens,nonsense\n0,1,1,1\n");
  const std::string refused = dooly({"workload", "stats", trace}).err;
  const std::size_t known = refused.find("known: ");
  ASSERT_NE(known, std::string::npos) << refused;
  std::istringstream columns(refused.substr(known + 7));
  for (std::string column; columns >> column;)
    EXPECT_NE(text.find("`" + column + "`"), std::string::npos) << "docs/traces.md lacks column " << column;
}

}  // namespace
}  // namespace dooly::cli
