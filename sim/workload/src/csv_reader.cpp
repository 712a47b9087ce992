#include "csv_reader.hpp"

#include "number_text.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::workload {

bool CsvSplitter::split(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  unquoted_.clear();
  unquoted_.reserve(line.size());  // views into it stay valid
  for (std::size_t at = 0;;) {
    if (at < line.size() && line[at] == '"') {
      const std::size_t start = unquoted_.size();
      for (++at;; ++at) {
        if (at >= line.size()) return false;
        if (line[at] == '"') {
          if (at + 1 >= line.size() || line[at + 1] != '"') break;
          ++at;
        }
        unquoted_.push_back(line[at]);
      }
      ++at;
      cells.push_back(std::string_view(unquoted_).substr(start));
      if (at < line.size() && line[at] != ',') return false;
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      cells.push_back(trim(line.substr(at, comma - at)));
      at = comma;
    }
    if (at >= line.size()) return true;
    ++at;
  }
}

namespace {

void note_column(TraceColumns& columns, Meaning meaning) {
  switch (meaning) {
    case Meaning::kId: columns.id = true; break;
    case Meaning::kClass: columns.request_class = true; break;
    case Meaning::kPriority: columns.priority = true; break;
    case Meaning::kSession: columns.session = true; break;
    case Meaning::kAfter: columns.after = true; break;
    case Meaning::kDeadline: columns.deadline = true; break;
    case Meaning::kPrefixId: columns.prefix = true; break;
    case Meaning::kBlockIds: columns.blocks = true; break;
    default: break;
  }
}

}  // namespace

CsvReader::CsvReader(LineReader lines, std::string_view header, const TraceFormat& format, std::uint32_t block_size,
                     bool truncated)
    : TraceReader(lines.name(), format.name),
      lines_(std::move(lines)),
      format_(format),
      setter_(format, *this),
      block_size_(block_size != 0 ? block_size : format.block_size) {
  has_header_ = true;
  read_header(header);
  columns_.block_size = block_size_;
  columns_.truncated = truncated;
}

void CsvReader::read_header(std::string_view header) {
  const auto bad = [this](const std::string& what) {
    throw WorkloadError(fmt::format("{}:{}: {}", lines_.name(), lines_.number(), what));
  };
  if (!splitter_.split(header, cells_)) bad("header: misplaced quote");
  for (const std::string_view cell : cells_) {
    const FieldRule* rule = format_.find(trim(cell));
    if (rule == nullptr && format_.refuse_unknown_fields)
      bad(fmt::format("header: unknown column '{}'{}", cell, format_.known_fields(cell)));
    if (rule != nullptr && std::find(rules_.begin(), rules_.end(), rule) != rules_.end())
      bad(fmt::format("header: column '{}' twice", cell));
    rules_.push_back(rule);
    if (rule != nullptr) note_column(columns_, rule->meaning);
  }
  for (const FieldRule& field : format_.fields) {
    if (field.required && std::find(rules_.begin(), rules_.end(), &field) == rules_.end())
      bad(fmt::format("header: no column '{}', which format {} needs", field.name, format_.name));
  }
  columns_.arrival = std::any_of(rules_.begin(), rules_.end(), [](const FieldRule* rule) {
    return rule != nullptr && rule->meaning == Meaning::kArrival;
  });
  if (!columns_.arrival && format_.refuse_unknown_fields) bad("header: no column 'arrival_s'");
}

bool CsvReader::next(TraceRow& row) {
  std::string_view line;
  while (lines_.next(line)) {
    if (line.starts_with('#') && format_.refuse_unknown_fields) continue;
    if (parse(line, row)) return true;
    ++skipped_;
  }
  return false;
}

/// False: the format calls this row no request.
bool CsvReader::parse(std::string_view line, TraceRow& row) {
  row.arrival_s.reset(), row.id.reset(), row.priority.reset(), row.session.reset(), row.turn.reset();
  row.after_s.reset(), row.deadline_s.reset(), row.prefix_id.reset();
  row.prefix_tokens = 0;
  row.class_name.clear(), row.block_ids.clear();
  row.block_size = block_size_;
  row.line = lines_.number();
  row.row = ++rows_;
  if (!splitter_.split(line, cells_)) refuse(row, "row", "misplaced quote");
  for (std::size_t i = 0; i < std::min(rules_.size(), cells_.size()); ++i) {
    const FieldRule* rule = rules_[i];
    if (rule == nullptr || rule->meaning == Meaning::kNothing) continue;
    if (!cells_[i].empty()) {
      setter_.set(row, *rule, cells_[i]);
    } else if (rule->required) {
      refuse(row, rule->name, "missing");
    } else if (rule->meaning == Meaning::kId) {
      refuse(row, rule->name, "missing: where one row has an id, all need one");
    }
  }
  if (cells_.size() != rules_.size()) {
    const bool short_row = cells_.size() < rules_.size();
    const FieldRule* first_missing = short_row ? rules_[cells_.size()] : nullptr;
    refuse(row, first_missing != nullptr ? first_missing->name : std::string_view("row"),
           fmt::format("{}the header has {} cells, this row {}", short_row ? "missing: " : "", rules_.size(),
                       cells_.size()));
  }
  if (row.output_tokens == 0) return false;
  setter_.check(row);
  return true;
}

}  // namespace dooly::workload
