#include "engine_log.hpp"

#include "gzip_lines.hpp"
#include "validate/validation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

namespace dooly::validate {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kMicro = 1e-6;
constexpr double kRealWait = 200e-6;  ///< of the host for the device; below, the result had been there before

/// "closed loop, 64 workers": 64.
std::uint32_t workers(const std::string& arrivals) {
  const std::size_t digit = arrivals.find_first_of("0123456789");
  std::uint32_t count = 0;
  if (digit != std::string::npos) std::from_chars(arrivals.data() + digit, arrivals.data() + arrivals.size(), count);
  if (count == 0) throw std::invalid_argument("meta.arrivals: names no number of workers");
  return count;
}

json read_json(const fs::path& path) {
  std::string all;
  for (const std::string& line : read_lines(path)) all += line + "\n";
  return json::parse(all);
}

fs::path with_ending(const fs::path& path, const char* ending) { return path.string() + ending; }

/// Does something with every line of a file, and adds file and line to what goes wrong.
template <class Do>
void for_each_line(const fs::path& path, const Do& work) {
  const std::vector<std::string> lines = read_lines(path);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    try {
      work(i, json::parse(lines[i]));
    } catch (const MissingData&) {
      throw;
    } catch (const std::exception& error) {
      throw ValidationError(fmt::format("{}:{}: {}", path.string(), i + 1, error.what()));
    }
  }
}

LoggedRequest request_of(const json& row) {
  LoggedRequest request{.id = row.at("id")};
  request.sent_s = row.at("sent_us").get<double>() * kMicro;
  request.received_s = row.at("recv_us").get<double>() * kMicro;
  request.added_s = row.at("added_us").get<double>() * kMicro;
  const json& engine = row.at("engine_us");
  request.queued_engine_s = engine.at(0).get<double>() * kMicro;
  request.scheduled_engine_s = engine.at(1).get<double>() * kMicro;
  request.first_engine_s = engine.at(2).get<double>() * kMicro;
  request.last_engine_s = engine.at(3).get<double>() * kMicro;
  request.first_s = row.at("first_us").get<double>() * kMicro;
  request.done_s = row.at("done_us").get<double>() * kMicro;
  request.prompt = row.at("in");
  request.output = row.at("out");
  request.cached = row.value("cached", 0U);
  request.prefix_tokens = row.value("prefix_len", 0U);
  request.prefix_group = row.value("prefix_group", std::uint64_t{0});
  return request;
}

/// Iterations are written as differences to what is expected of the one before.
class IterationReader {
 public:
  explicit IterationReader(EngineLog& log) : log_(log) {
    for (std::uint32_t i = 0; i < log.requests.size(); ++i) places_.emplace(log.requests[i].id, i);
  }

  void header(const json& row) {
    const json& fields = row.at("fields");
    for (std::size_t i = 0; i < fields.size(); ++i) columns_.emplace(fields[i].get<std::string>(), i);
    gpu_end_s_ = row.at("t_gpu_ref_us").get<double>() * kMicro;
  }

  void row(const json& row) {
    LoggedIteration iteration;
    read_times(row, iteration);
    read_counts(row, iteration);
    place_on_gpu(iteration);
    expect();
    for (const json& id : column(row, "del")) batch_.erase(place(id));
    for (const json& entry : column(row, "set")) {
      const std::uint32_t request = place(entry.at(0));
      batch_[request] = {request, entry.at(1), entry.at(2)};
    }
    for (const json& id : column(row, "preempted")) iteration.preempted.push_back(place(id));
    for (const auto& [request, entry] : batch_) iteration.batch.push_back(entry);
    check(row, iteration);
    log_.iterations.push_back(std::move(iteration));
  }

 private:
  const json& column(const json& row, const std::string& name) const { return row.at(columns_.at(name)); }
  double seconds(const json& row, const std::string& name) const {
    const json& value = column(row, name);
    return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>() * kMicro;
  }
  std::uint32_t place(const json& id) const { return places_.at(id.get<std::string>()); }

  void read_times(const json& row, LoggedIteration& into) const {
    into.schedule_begin_s = seconds(row, "sched0");
    into.schedule_end_s = seconds(row, "sched1");
    into.launch_begin_s = seconds(row, "exec0");
    into.launch_end_s = seconds(row, "exec1");
    into.sample_end_s = seconds(row, "samp1");
    into.wait_begin_s = seconds(row, "wait0");
    into.wait_end_s = seconds(row, "wait1");
    into.update_end_s = seconds(row, "upd1");
    into.gpu_gap_s = seconds(row, "gpu_gap");
    into.gpu_s = seconds(row, "gpu_dur");
  }

  /// Sums of gaps and times drift; the end of a graph that the host was waiting for is known.
  void place_on_gpu(LoggedIteration& into) {
    const bool is_known = into.mode == oracle::GraphMode::kFull && into.wait_end_s - into.wait_begin_s > kRealWait;
    const double summed_s = gpu_end_s_ + into.gpu_gap_s + into.gpu_s;
    gpu_end_s_ = is_known || !(summed_s < into.wait_end_s) ? into.wait_end_s : summed_s;
    into.gpu_end_s = gpu_end_s_;
  }

  void read_counts(const json& row, LoggedIteration& into) const {
    const json& mode = column(row, "cg");
    into.mode = mode == "FULL"        ? oracle::GraphMode::kFull
                : mode == "PIECEWISE" ? oracle::GraphMode::kPiecewise
                                      : oracle::GraphMode::kNone;
    const json& padded = column(row, "pad");
    into.padded = padded.is_null() ? 0 : padded.get<std::uint32_t>();
    into.running = column(row, "running");
    into.waiting = column(row, "waiting");
    into.free_blocks = column(row, "free");
    into.tokens = column(row, "nt");
    into.prefills = column(row, "npf");
    into.context_after = column(row, "ctx");
  }

  /// Whoever produced a token is expected again with one token more.
  void expect() {
    std::map<std::uint32_t, LoggedEntry> next;
    for (const auto& [request, entry] : batch_) {
      const std::uint32_t end = entry.computed + entry.tokens;
      if (entry.tokens == 1 || end >= log_.requests[request].prompt) next[request] = {request, 1, end};
    }
    batch_ = std::move(next);
  }

  void check(const json& row, const LoggedIteration& iteration) const {
    std::uint64_t tokens = 0;
    for (const LoggedEntry& entry : iteration.batch) tokens += entry.tokens;
    if (iteration.batch.size() != column(row, "nr").get<std::size_t>() || tokens != iteration.tokens)
      throw std::invalid_argument("the batch does not add up to nr and nt");
  }

  EngineLog& log_;
  std::map<std::string, std::uint32_t> places_;
  std::map<std::string, std::size_t> columns_;
  std::map<std::uint32_t, LoggedEntry> batch_;
  double gpu_end_s_ = 0;
};

void read_run(EngineLog& log) {
  const fs::path path = with_ending(log.path, ".run.json");
  try {
    const json run = read_json(path);
    if (run.at("kind") == "closed") log.clients = workers(run.at("meta").at("arrivals"));
    if (const auto kept = run.find("keep_free_blocks"); kept != run.end() && !kept->is_null()) log.free_blocks = *kept;
  } catch (const json::exception& error) {
    throw ValidationError(path.string() + ": " + error.what());
  } catch (const std::invalid_argument& error) {
    throw ValidationError(path.string() + ": " + error.what());
  }
}

void read_engine(EngineLog& log) {
  const fs::path path = log.path.parent_path() / "engine.json";
  try {
    const json resolved = read_json(path).at("resolved");
    log.blocks = resolved.at("num_gpu_blocks");
    log.is_async = resolved.at("scheduler_config").at("async_scheduling") == "True";
  } catch (const json::exception& error) {
    throw ValidationError(path.string() + ": " + error.what());
  }
}

}  // namespace

EngineLog read_engine_log(const fs::path& path, bool with_iterations) {
  EngineLog log;
  log.path = path;
  read_run(log);
  read_engine(log);
  for_each_line(with_ending(path, ".requests.jsonl.gz"),
                [&](std::size_t, const json& row) { log.requests.push_back(request_of(row)); });
  std::stable_sort(log.requests.begin(), log.requests.end(),
                   [](const LoggedRequest& a, const LoggedRequest& b) { return a.sent_s < b.sent_s; });
  if (!with_iterations) return log;
  IterationReader reader(log);
  for_each_line(with_ending(path, ".iterations.jsonl.gz"),
                [&](std::size_t number, const json& row) { number == 0 ? reader.header(row) : reader.row(row); });
  return log;
}

}  // namespace dooly::validate
