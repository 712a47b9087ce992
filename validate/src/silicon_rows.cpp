#include "silicon_rows.hpp"

#include "gzip_lines.hpp"

#include "validate/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>

namespace dooly::validate {
namespace {

/// GPUs of a machine of the benchmark's cluster.
constexpr std::uint32_t kNodeGpus = 8;

std::vector<std::string_view> cells_of(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = line.find(',');
    cells.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

/// Cells of one line by the names of the columns.
class Line {
 public:
  Line(const std::map<std::string, std::size_t, std::less<>>& columns, std::string_view line, std::string where)
      : columns_(columns),
        cells_(cells_of(line)),
        where_(std::move(where)) {
    if (cells_.size() != columns.size())
      throw ValidationError(fmt::format("{}: {} cells, got {}", where_, columns.size(), cells_.size()));
  }

  std::string_view text(std::string_view column) const {
    const auto found = columns_.find(column);
    if (found == columns_.end()) throw ValidationError(fmt::format("{}: no column {}", where_, column));
    return cells_[found->second];
  }
  /// `absent` where the cell is empty.
  std::uint32_t count(std::string_view column, std::uint32_t absent) const {
    const std::string_view cell = text(column);
    if (cell.empty()) return absent;
    return number<std::uint32_t>(column, cell, "a whole number");
  }
  std::uint32_t required(std::string_view column) const {
    const auto value = number<std::uint32_t>(column, text(column), "a whole number above 0");
    if (value == 0) throw ValidationError(fmt::format("{}: {}: must be above 0, got 0", where_, column));
    return value;
  }
  double seconds(std::string_view column) const {
    const auto ms = number<double>(column, text(column), "milliseconds above 0");
    if (!(ms > 0) || !std::isfinite(ms))
      throw ValidationError(fmt::format("{}: {}: must be milliseconds above 0, got {}", where_, column, text(column)));
    return ms * 1e-3;
  }

 private:
  template <typename T>
  T number(std::string_view column, std::string_view cell, const char* what) const {
    T value{};
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc() || end != cell.data() + cell.size())
      throw ValidationError(fmt::format("{}: {}: must be {}, got '{}'", where_, column, what, cell));
    return value;
  }

  const std::map<std::string, std::size_t, std::less<>>& columns_;
  std::vector<std::string_view> cells_;
  std::string where_;
};

/// `silicon_concurrency=8` among notes separated by semicolons. Rows without it come from the tool's own deployments,
/// which fill a machine with workers that share the clients.
std::uint32_t clients_of(const Line& line, SiliconRow& row) {
  constexpr std::string_view kKey = "silicon_concurrency=";
  const std::string_view notes = line.text("silicon_data_source");
  const std::uint32_t batch = line.required("batch_size");
  const std::size_t at = notes.find(kKey);
  if (at != std::string_view::npos) {
    std::uint32_t clients = 0;
    const char* begin = notes.data() + at + kKey.size();
    std::from_chars(begin, notes.data() + notes.size(), clients);
    row.has_clients = clients > 0;
    if (row.has_clients) return clients;
  }
  const std::uint32_t workers = std::max(1u, kNodeGpus / (row.tensor_parallel * row.pipeline_parallel));
  return std::max(1u, batch / workers);
}

SiliconRow row_of(const Line& line) {
  SiliconRow row;
  row.id = line.text("id");
  row.model = line.text("model_path");
  row.system = line.text("system");
  row.engine_version = line.text("backend_version");
  row.weights = line.text("gemm_quant_mode");
  row.prompt = line.required("isl");
  row.output = line.required("osl");
  row.tensor_parallel = line.required("tp_size");
  row.pipeline_parallel = std::max(1u, line.count("pp_size", 1));
  row.attention_data_parallel = line.count("attention_dp_size", 0);
  row.expert_tensor_parallel = std::max(1u, line.count("moe_tp_size", 1));
  row.expert_parallel = std::max(1u, line.count("moe_ep_size", 1));
  row.ttft_s = line.seconds("silicon_ttft_ms");
  row.tpot_s = line.seconds("silicon_tpot_ms");
  row.clients = clients_of(line, row);
  return row;
}

}  // namespace

std::uint32_t SiliconRow::data_parallel(bool has_experts) const {
  if (attention_data_parallel > 0) return attention_data_parallel;
  if (!has_experts) return 1;
  return std::max(1u, expert_tensor_parallel * expert_parallel / tensor_parallel);
}

double SiliconRow::throughput(double ttft, double tpot) const {
  return double(clients) * output / (ttft + tpot * (output - 1));
}

std::string SiliconRow::shape() const {
  return fmt::format("{} tp{} ep{} {}/{} x{}", system, tensor_parallel, expert_parallel, prompt, output, clients);
}

std::vector<SiliconRow> read_silicon_rows(const std::filesystem::path& path, const std::string& backend) {
  const std::vector<std::string> lines = read_lines(path);
  if (lines.empty()) throw ValidationError(path.string() + ": is empty");
  std::map<std::string, std::size_t, std::less<>> columns;
  for (const std::string_view name : cells_of(lines.front())) columns.emplace(name, columns.size());
  std::vector<SiliconRow> rows;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const Line line(columns, lines[i], fmt::format("{}:{}", path.string(), i + 1));
    if (line.text("backend") == backend && line.text("mode") == "agg") rows.push_back(row_of(line));
  }
  return rows;
}

}  // namespace dooly::validate
