#include "jsonl_reader.hpp"

#include "number_text.hpp"

#include <fmt/format.h>

namespace dooly::workload {

JsonLinesReader::JsonLinesReader(LineReader lines, std::string_view first, const TraceFormat& format,
                                 std::uint32_t block_size, bool truncated)
    : TraceReader(lines.name(), format.name),
      first_(first),
      format_(format),
      setter_(format, *this),
      block_size_(block_size != 0 ? block_size : format.block_size),
      first_line_(lines.number()) {
  lines_.emplace(std::move(lines));
  columns_.block_size = block_size_;
  columns_.blocks = format.block_size != 0;
  if (format.refuse_unknown_fields)  // any row may bring any field
    columns_ = {true, true, true, true, true, true, true, true, true, 0, false};
  columns_.truncated = truncated;
}

bool JsonLinesReader::next(TraceRow& row) {
  std::string_view line = first_;
  std::uint64_t number = first_line_;
  if (!at_first_) {
    do {
      if (!lines_->next(line)) return false;
    } while (line.starts_with('#') && format_.refuse_unknown_fields);
    number = lines_->number();
  }
  row.line = number;
  row.row = ++rows_;
  parse(line, row);
  at_first_ = false;
  return true;
}

void JsonLinesReader::parse(std::string_view line, TraceRow& row) {
  row.arrival_s.reset(), row.id.reset(), row.priority.reset(), row.session.reset(), row.turn.reset();
  row.after_s.reset(), row.deadline_s.reset(), row.prefix_id.reset();
  row.prefix_tokens = 0;
  row.class_name.clear(), row.block_ids.clear();
  row.block_size = block_size_;
  std::uint32_t seen = 0;
  JsonScanner scanner(line);
  JsonScanner::Member member;
  while (scanner.next(member)) {
    const FieldRule* rule = format_.find(member.key);
    if (rule == nullptr) {
      if (format_.refuse_unknown_fields) refuse(row, member.key, "unknown field" + format_.known_fields(member.key));
      continue;
    }
    const std::uint32_t bit = 1U << (rule - format_.fields.data());
    if ((seen & bit) != 0) refuse(row, rule->name, "given twice");
    if (member.kind == JsonScanner::Kind::kLiteral && member.text == "null") continue;  // as if absent
    seen |= bit;
    const bool is_text = rule->meaning == Meaning::kClass;
    if (rule->meaning == Meaning::kBlockIds) {
      if (member.kind != JsonScanner::Kind::kArray) refuse(row, rule->name, "want a list of whole numbers");
      set_array(row, *rule, member.text);
    } else if (member.kind != (is_text ? JsonScanner::Kind::kString : JsonScanner::Kind::kNumber)) {
      refuse(row, rule->name,
             fmt::format("want {}, got {}", is_text ? "a string" : "a number", member.text.substr(0, 60)));
    } else {
      setter_.set(row, *rule, member.text);
    }
  }
  if (!scanner.error().empty()) refuse(row, "row", scanner.error());
  for (const FieldRule& rule : format_.fields) {
    if (rule.required && (seen & (1U << (&rule - format_.fields.data()))) == 0) refuse(row, rule.name, "missing");
  }
  setter_.check(row);
}

void JsonLinesReader::set_array(TraceRow& row, const FieldRule& rule, std::string_view text) {
  std::size_t at = 1;  // behind '['
  const auto space = [&] {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
  };
  space();
  if (text[at] == ']') return;
  for (;;) {
    std::uint64_t id = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
    if (error != std::errc()) break;
    row.block_ids.push_back(id);
    at = static_cast<std::size_t>(end - text.data());
    space();
    if (text[at] == ']') return;
    if (text[at] != ',') break;
    ++at;
    space();
  }
  refuse(row, rule.name, fmt::format("want whole numbers, got '{}'", text.substr(at, 20)));
}

}  // namespace dooly::workload
