#pragma once

#include "../cli/dooly_process.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace dooly::e2e {

/// A result file in CSV, by column name. The files read here quote nothing.
class Table {
 public:
  Table() = default;
  explicit Table(const std::filesystem::path& path);

  std::size_t size() const { return rows_.size(); }
  const std::string& text(std::size_t row, const std::string& column) const;
  /// NaN for an empty cell.
  double number(std::size_t row, const std::string& column) const;
  /// All defined numbers of a column.
  std::vector<double> numbers(const std::string& column) const;
  double sum(const std::string& column) const;
  std::size_t count(const std::string& column, const std::string& value) const;
  /// The row whose column `id` is `id`.
  std::size_t row_of(std::uint64_t id) const;

 private:
  std::map<std::string, std::size_t> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// One `dooly run`, and what it wrote.
struct RunResult {
  cli::ProcessResult process;
  nlohmann::json summary;
  Table requests;
  Table iterations;                       ///< where the scenario asked for them
  std::vector<nlohmann::json> decisions;  ///< likewise
  std::string requests_text, summary_text;
};

using Sets = std::vector<std::string>;  ///< KEY=VALUE of --set

/// Runs tests/e2e/scenarios/NAME (or an absolute path).
RunResult run_scenario(const std::string& scenario, const Sets& sets = {}, const std::vector<std::string>& more = {});

/// The same, with a dooly-trace of these lines as its workload; the header line is the first.
RunResult run_trace(const std::string& scenario, const std::string& trace, const Sets& sets = {});

/// Path of tests/e2e/scenarios/NAME.
std::string scenario_path(const std::string& name);

/// `--set` before each.
std::vector<std::string> as_arguments(const Sets& sets);

double mean(const std::vector<double>& values);
/// numpy's default: linear between closest ranks.
double percentile(std::vector<double> values, double percent);

}  // namespace dooly::e2e
