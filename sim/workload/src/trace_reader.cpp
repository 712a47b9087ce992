#include "workload/trace_reader.hpp"

#include "bench_result_reader.hpp"
#include "csv_reader.hpp"
#include "json_scanner.hpp"
#include "jsonl_reader.hpp"
#include "number_text.hpp"
#include "workload/sampler.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace dooly::workload {

TraceColumns TraceColumns::operator|(const TraceColumns& other) const {
  TraceColumns both = *this;
  both.arrival |= other.arrival, both.id |= other.id, both.request_class |= other.request_class;
  both.priority |= other.priority, both.session |= other.session, both.after |= other.after;
  both.deadline |= other.deadline, both.prefix |= other.prefix, both.truncated |= other.truncated;
  if (other.blocks) both.block_size = blocks && block_size != other.block_size ? 0 : other.block_size;
  both.blocks |= other.blocks;
  return both;
}

void TraceReader::refuse(const TraceRow& row, std::string_view field, const std::string& why) const {
  const std::string line = row.line != 0 ? fmt::format("{}: ", row.line) : std::string(" ");
  const std::string number = has_header_ || row.line == 0 ? fmt::format("row {}: ", row.row) : std::string();
  throw WorkloadError(fmt::format("{}:{}{}{}: {}", name_, line, number, field, why));
}

const std::vector<std::string>& trace_formats() {
  static const std::vector<std::string> formats = {"azure",    "mooncake", "burstgpt",   "vidur",    "llmservingsim",
                                                   "sharegpt", "apex",     "vllm-bench", "servegen", "dooly"};
  return formats;
}

namespace {

constexpr std::size_t kMagicBytes = 256 * 1024;

/// The format whose required columns a CSV header has; empty if none. The richest match wins.
std::string_view format_of_header(std::string_view header) {
  CsvSplitter splitter;
  std::vector<std::string_view> cells;
  if (!splitter.split(header, cells)) return {};
  const auto has = [&](std::string_view name) { return std::find(cells.begin(), cells.end(), name) != cells.end(); };
  if (has("client_id") && has("rate_rps")) return "servegen";
  for (const char* name : {"azure", "burstgpt", "apex", "vidur", "sharegpt", "dooly"}) {
    const auto& fields = row_format(name)->fields;
    if (std::all_of(fields.begin(), fields.end(), [&](const FieldRule& f) { return !f.required || has(f.name); }))
      return name;
  }
  return {};
}

/// The same for the first JSON object; one required field other than the tokens' is enough, so that the reader can name
/// the one that is missing.
std::string_view format_of_object(std::string_view line) {
  JsonScanner scanner(line);
  JsonScanner::Member member;
  std::string_view format;
  while (scanner.next(member)) {
    if (member.key == "input_lens" || member.key == "output_lens" || member.key == "start_times") return "vllm-bench";
    if (member.key == "input_length" || member.key == "output_length" || member.key == "timestamp") format = "mooncake";
    if (member.key == "input_toks" || member.key == "output_toks") format = "llmservingsim";
    if (member.key == "prompt_tokens" || member.key == "arrival_s") format = "dooly";
  }
  return format;
}

/// Takes over what a header comment says, e.g. `# dooly-trace 1 block_size=16`.
void read_comment(const LineReader& lines, std::string_view line, std::uint32_t& block_size, bool& truncated) {
  if (const std::size_t at = line.find("block_size"); at != line.npos) {
    std::string_view rest = line.substr(at + 10);
    rest = rest.substr(std::min(rest.find_first_not_of("=: "), rest.size()));
    const auto size = whole_in(rest.substr(0, std::min(rest.find_first_of(" ,;\t"), rest.size())));
    if (!size || *size < 1 || *size > kMaxTokens)
      throw WorkloadError(
          fmt::format("{}:{}: block_size: want a whole number of at least 1", lines.name(), lines.number()));
    block_size = static_cast<std::uint32_t>(*size);
  }
  if (line.find("truncated=1") != line.npos) truncated = true;
}

/// Opens the stream twice at most: a result file of the benchmark is no file of lines.
using Opener = std::function<InputStream()>;

bool is_bench_result(const Opener& opener) {
  InputStream stream = opener();
  std::string start(kMagicBytes, '\0');
  std::size_t have = 0;
  for (std::size_t got = 1; got > 0 && have < start.size(); have += got)
    got = stream.read(start.data() + have, start.size() - have);
  start.resize(have);
  const std::size_t brace = start.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (brace == start.npos || start[brace] != '{') return false;
  for (const char* key :
       {"\"input_lens\"", "\"output_lens\"", "\"request_throughput\"", "\"start_times\"", "\"num_prompts\""})
    if (start.find(key) != start.npos) return true;
  return false;
}

/// "; nearest is dooly, without 'prompt_tokens'": the format of which a CSV header has the most required columns.
std::string nearest_format(std::string_view header) {
  CsvSplitter splitter;
  std::vector<std::string_view> cells;
  if (!splitter.split(header, cells)) return {};
  std::size_t most = 0;
  std::string text;
  for (const char* name : {"dooly", "azure", "burstgpt", "apex", "vidur", "sharegpt"}) {
    std::vector<std::string> lacking;
    std::size_t have = 0;
    for (const FieldRule& field : row_format(name)->fields) {
      const bool is_there = std::find(cells.begin(), cells.end(), field.name) != cells.end();
      have += is_there ? 1 : 0;
      if (!is_there && field.required) lacking.push_back(fmt::format("'{}'", field.name));
    }
    if (have <= most) continue;
    most = have;
    text = fmt::format("; nearest is {}, without {}", name, fmt::join(lacking, " and "));
  }
  return text;
}

[[noreturn]] void unknown_format(const std::string& name, const std::string& near) {
  throw WorkloadError(
      fmt::format("{}: none of the known trace formats: {}{}", name, fmt::join(trace_formats(), " "), near));
}

/// Header comments passed over, the first line that matters, and what it is.
struct Opened {
  LineReader lines;
  std::string first;
  std::string_view format;
  bool is_json = false;
  std::uint32_t block_size = 0;
  bool truncated = false;
};

Opened open_lines(InputStream stream) {
  Opened opened{LineReader(std::move(stream)), {}, {}, false, 0, false};
  std::string_view line;
  bool any = false;
  while ((any = opened.lines.next(line)) && line.starts_with('#'))
    read_comment(opened.lines, line, opened.block_size, opened.truncated);
  if (!any) throw WorkloadError(opened.lines.name() + ": is empty");
  opened.first = line;
  opened.is_json = trim(line).starts_with('{');
  opened.format = opened.is_json ? format_of_object(line) : format_of_header(line);
  return opened;
}

std::unique_ptr<TraceReader> make_reader(const Opener& opener, const std::string& name, std::string_view format) {
  const auto& known = trace_formats();
  if (!format.empty() && std::find(known.begin(), known.end(), format) == known.end())
    throw WorkloadError(fmt::format("unknown trace format '{}'; known: {}", format, fmt::join(known, " ")));
  if (format == "vllm-bench" || (format.empty() && is_bench_result(opener)))
    return std::make_unique<BenchResultReader>(opener());
  Opened opened = open_lines(opener());
  if (format.empty() && opened.format.empty()) unknown_format(name, opened.is_json ? "" : nearest_format(opened.first));
  if (!format.empty() && !opened.format.empty() && opened.format != format)
    throw WorkloadError(fmt::format("{}: is of format {}, not {}", name, opened.format, format));
  const std::string_view chosen = format.empty() ? opened.format : format;
  if (chosen == "servegen") throw WorkloadError(name + ": format servegen holds statistics of clients, not requests");
  const TraceFormat* found = row_format(chosen);
  if (found == nullptr) unknown_format(name, opened.is_json ? "" : nearest_format(opened.first));
  const TraceFormat& rules = *found;
  using Encoding = TraceFormat::Encoding;
  if (opened.is_json ? rules.encoding == Encoding::kCsv : rules.encoding == Encoding::kJsonLines)
    throw WorkloadError(fmt::format("{}:{}: format {} is {}", name, opened.lines.number(), chosen,
                                    opened.is_json ? "CSV" : "one JSON object a line"));
  if (opened.is_json)
    return std::make_unique<JsonLinesReader>(std::move(opened.lines), opened.first, rules, opened.block_size,
                                             opened.truncated);
  return std::make_unique<CsvReader>(std::move(opened.lines), opened.first, rules, opened.block_size, opened.truncated);
}

}  // namespace

std::unique_ptr<TraceReader> open_trace(const std::filesystem::path& path, std::string_view format) {
  return make_reader([&] { return InputStream::open(path); }, path.string(), format);
}

std::unique_ptr<TraceReader> read_trace(std::string name, std::string bytes, std::string_view format) {
  return make_reader([&] { return InputStream::from_memory(name, bytes); }, name, format);
}

std::string detect_format(const std::filesystem::path& path) {
  if (is_bench_result([&] { return InputStream::open(path); })) return "vllm-bench";
  const Opened opened = open_lines(InputStream::open(path));
  if (opened.format.empty()) unknown_format(path.string(), opened.is_json ? "" : nearest_format(opened.first));
  return std::string(opened.format);
}

}  // namespace dooly::workload
