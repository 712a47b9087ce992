#include "workload/trace_writer.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace dooly::workload {
namespace {

void append_number(std::string& text, double value) {  // shortest that reads back as the same bits
  char buffer[32];
  text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}
template <typename Integer>
void append_integer(std::string& text, Integer value) {
  char buffer[24];
  text.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
}

void append_csv_text(std::string& line, std::string_view text) {
  if (text.find_first_of(",\"#") == text.npos && (text.empty() || (text.front() != ' ' && text.back() != ' '))) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void append_json_text(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') line += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      line += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

}  // namespace

TraceWriter::TraceWriter(std::ostream& out, Encoding encoding, const TraceColumns& columns)
    : out_(out),
      encoding_(encoding),
      columns_(columns) {
  header();
}

void TraceWriter::header() {
  std::string text = "# dooly-trace 1";
  if (columns_.blocks && columns_.block_size != 0) text += fmt::format(" block_size={}", columns_.block_size);
  if (columns_.truncated) text += " truncated=1";
  text += '\n';
  if (encoding_ == Encoding::kCsv) {
    if (columns_.id) text += "id,";
    text += "arrival_s,prompt_tokens,output_tokens";
    if (columns_.request_class) text += ",class";
    if (columns_.priority) text += ",priority";
    if (columns_.session) text += ",session,turn";
    if (columns_.after) text += ",after_s";
    if (columns_.deadline) text += ",deadline_s";
    if (columns_.prefix) text += ",prefix_id,prefix_tokens";
    if (columns_.blocks && columns_.block_size == 0) text += ",block_size";
    if (columns_.blocks) text += ",block_ids";
    text += '\n';
  }
  out_ << text;
}

void TraceWriter::add(const Request& request, std::string_view class_name) {
  ++rows_;
  const bool in_session = request.session != kNoSession && request.after_s >= 0 && columns_.after;
  const auto known = in_session ? group_of_session_.find(request.session) : group_of_session_.end();
  const bool waits = known != group_of_session_.end();
  line_.clear();
  encoding_ == Encoding::kCsv ? append_csv(request, class_name, waits) : append_json(request, class_name, waits);
  if (waits) {
    groups_[known->second - first_group_].text += line_;
  } else if (in_session) {
    group_of_session_.emplace(request.session, first_group_ + groups_.size());
    groups_.push_back({line_, true});
  } else if (groups_.empty()) {
    out_ << line_;
  } else if (!groups_.back().is_open) {
    groups_.back().text += line_;
  } else {
    groups_.push_back({line_, false});
  }
}

void TraceWriter::append_csv(const Request& request, std::string_view class_name, bool waits) {
  if (columns_.id) append_integer(line_, request.id), line_ += ',';
  if (!waits) append_number(line_, request.arrival_s);
  line_ += ',';
  append_integer(line_, request.prompt_tokens), line_ += ',';
  append_integer(line_, request.output_tokens);
  if (columns_.request_class) line_ += ',', append_csv_text(line_, class_name);
  if (columns_.priority) line_ += ',', append_integer(line_, request.priority);
  if (columns_.session) {
    const bool has = request.session != kNoSession;
    line_ += ',';
    if (has) append_integer(line_, request.session);
    line_ += ',';
    if (has) append_integer(line_, request.turn);
  }
  if (columns_.after) {
    line_ += ',';
    if (request.session != kNoSession && request.after_s >= 0) append_number(line_, request.after_s);
  }
  if (columns_.deadline) {
    line_ += ',';
    if (request.deadline_s > 0) append_number(line_, request.deadline_s);
  }
  if (columns_.prefix) {
    const bool has = request.prefix_id != kNoPrefix;
    line_ += ',';
    if (has) append_integer(line_, request.prefix_id);
    line_ += ',';
    if (has) append_integer(line_, request.prefix_tokens);
  }
  if (columns_.blocks && columns_.block_size == 0) {
    line_ += ',';
    if (request.block_size > 0) append_integer(line_, request.block_size);
  }
  if (columns_.blocks) {
    char separator = ',';
    if (request.block_ids.empty()) line_ += ',';
    for (const std::uint64_t id : request.block_ids) {
      line_ += std::exchange(separator, ' ');
      append_integer(line_, id);
    }
  }
  line_ += '\n';
}

void TraceWriter::append_json(const Request& request, std::string_view class_name, bool waits) {
  const auto key = [this](std::string_view name) {
    line_ += line_.empty() ? '{' : ',';
    line_ += '"', line_ += name, line_ += "\":";
  };
  if (columns_.id) key("id"), append_integer(line_, request.id);
  if (!waits) key("arrival_s"), append_number(line_, request.arrival_s);
  key("prompt_tokens"), append_integer(line_, request.prompt_tokens);
  key("output_tokens"), append_integer(line_, request.output_tokens);
  if (columns_.request_class && !class_name.empty()) key("class"), append_json_text(line_, class_name);
  if (columns_.priority) key("priority"), append_integer(line_, request.priority);
  if (columns_.session && request.session != kNoSession) {
    key("session"), append_integer(line_, request.session);
    key("turn"), append_integer(line_, request.turn);
    if (columns_.after && request.after_s >= 0) key("after_s"), append_number(line_, request.after_s);
  }
  if (columns_.deadline && request.deadline_s > 0) key("deadline_s"), append_number(line_, request.deadline_s);
  if (columns_.prefix && request.prefix_id != kNoPrefix) {
    key("prefix_id"), append_integer(line_, request.prefix_id);
    key("prefix_tokens"), append_integer(line_, request.prefix_tokens);
  }
  if (columns_.blocks && !request.block_ids.empty()) {
    if (columns_.block_size == 0) key("block_size"), append_integer(line_, request.block_size);
    key("block_ids");
    char separator = '[';
    for (const std::uint64_t id : request.block_ids) {
      line_ += std::exchange(separator, ',');
      append_integer(line_, id);
    }
    line_ += ']';
  }
  line_ += "}\n";
}

void TraceWriter::ended(std::uint64_t session) {
  const auto found = group_of_session_.find(session);
  if (found == group_of_session_.end()) return;
  groups_[found->second - first_group_].is_open = false;
  group_of_session_.erase(found);
  flush_ended();
}

void TraceWriter::flush_ended() {
  while (!groups_.empty() && !groups_.front().is_open) {
    out_ << groups_.front().text;
    groups_.pop_front();
    ++first_group_;
  }
}

void TraceWriter::finish() {
  for (Group& group : groups_) group.is_open = false;
  group_of_session_.clear();
  flush_ended();
}

}  // namespace dooly::workload
