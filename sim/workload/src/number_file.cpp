#include "number_file.hpp"

#include "csv_reader.hpp"
#include "line_reader.hpp"
#include "number_text.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dooly::workload {

std::vector<double> read_numbers(const std::filesystem::path& path, const std::string& column,
                                 const std::function<void(double)>& check) {
  LineReader lines(InputStream::open(path));
  CsvSplitter splitter;
  std::vector<std::string_view> cells;
  std::vector<double> numbers;
  std::string_view line;
  std::size_t index = 0;
  bool header_possible = true;
  const auto refuse = [&](const std::string& why) {
    throw WorkloadError(fmt::format("{}:{}: {}", path.string(), lines.number(), why));
  };
  while (lines.next(line)) {
    if (line.starts_with('#')) continue;
    if (!splitter.split(line, cells)) refuse("misplaced quote");
    if (std::exchange(header_possible, false)) {
      const auto found = std::find(cells.begin(), cells.end(), column);
      if (found != cells.end()) {
        index = static_cast<std::size_t>(found - cells.begin());
        continue;
      }
      if (cells.size() > 1)
        refuse(column.empty() ? "several columns: say which one to read"
                              : fmt::format("header: no column '{}'", column));
      if (!number_in(cells[0])) {
        if (!column.empty()) refuse(fmt::format("header: no column '{}'", column));
        continue;  // the header of a single column
      }
    }
    if (index >= cells.size()) refuse(fmt::format("{}: missing", column));
    const auto number = number_in(cells[index]);
    if (!number) refuse(fmt::format("want a number, got '{}'", cells[index].substr(0, 60)));
    try {
      check(*number);
    } catch (const WorkloadError& error) {
      refuse(error.what());
    }
    numbers.push_back(*number);
  }
  if (numbers.empty()) throw WorkloadError(path.string() + ": holds no numbers");
  return numbers;
}

}  // namespace dooly::workload
