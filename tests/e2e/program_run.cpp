#include "program_run.hpp"

#include "test_support/test_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace dooly::e2e {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else
      cells.back().push_back(c);
  }
  return cells;
}

}  // namespace

Table::Table(const fs::path& path) {
  std::istringstream text(cli::read_file(path));
  std::string line;
  if (!std::getline(text, line)) return;
  const std::vector<std::string> names = fields(line);
  for (std::size_t i = 0; i < names.size(); ++i) columns_[names[i]] = i;
  while (std::getline(text, line)) {
    rows_.push_back(fields(line));
    if (rows_.back().size() != names.size())
      throw std::runtime_error("not " + std::to_string(names.size()) + " cells: " + line);
  }
}

const std::string& Table::text(std::size_t row, const std::string& column) const {
  return rows_.at(row).at(columns_.at(column));
}

double Table::number(std::size_t row, const std::string& column) const {
  const std::string& cell = text(row, column);
  return cell.empty() ? std::numeric_limits<double>::quiet_NaN() : std::stod(cell);
}

std::vector<double> Table::numbers(const std::string& column) const {
  std::vector<double> values;
  for (std::size_t row = 0; row < size(); ++row)
    if (const double value = number(row, column); !std::isnan(value)) values.push_back(value);
  return values;
}

double Table::sum(const std::string& column) const {
  const std::vector<double> values = numbers(column);
  return std::accumulate(values.begin(), values.end(), 0.0);
}

std::size_t Table::count(const std::string& column, const std::string& value) const {
  std::size_t found = 0;
  for (std::size_t row = 0; row < size(); ++row) found += text(row, column) == value ? 1 : 0;
  return found;
}

std::size_t Table::row_of(std::uint64_t id) const {
  for (std::size_t row = 0; row < size(); ++row)
    if (text(row, "id") == std::to_string(id)) return row;
  throw std::out_of_range("no request " + std::to_string(id));
}

std::vector<std::string> as_arguments(const Sets& sets) {
  std::vector<std::string> words;
  for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
  return words;
}

std::string scenario_path(const std::string& name) {
  return fs::path(name).is_absolute() ? name : test::source_path("tests/e2e/scenarios/" + name).string();
}

RunResult run_scenario(const std::string& scenario, const Sets& sets, const std::vector<std::string>& more) {
  const cli::Scratch scratch;
  std::vector<std::string> line{"run", scenario_path(scenario), "--quiet", "--out", scratch.name("out")};
  for (const auto& words : {as_arguments(sets), more}) line.insert(line.end(), words.begin(), words.end());
  RunResult run;
  run.process = cli::dooly(line);
  const fs::path out = scratch / "out";
  if (!fs::exists(out / "summary.json")) return run;
  run.summary_text = cli::read_file(out / "summary.json");
  run.summary = nlohmann::json::parse(run.summary_text);
  run.requests_text = cli::read_file(out / "requests.csv");
  run.requests = Table(out / "requests.csv");
  if (fs::exists(out / "iterations.csv")) run.iterations = Table(out / "iterations.csv");
  std::istringstream decisions(cli::read_file(out / "decisions.jsonl"));
  for (std::string row; std::getline(decisions, row);) run.decisions.push_back(nlohmann::json::parse(row));
  return run;
}

RunResult run_trace(const std::string& scenario, const std::string& trace, const Sets& sets) {
  const cli::Scratch scratch;
  Sets all = sets;
  all.push_back("workload.trace.path=" + scratch.file("trace.csv", trace));
  return run_scenario(scenario, all);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double percentile(std::vector<double> values, double percent) {
  std::sort(values.begin(), values.end());
  const double rank = percent / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (rank - static_cast<double>(below));
}

}  // namespace dooly::e2e
