#include "servegen_part.hpp"

#include "csv_reader.hpp"
#include "number_text.hpp"
#include "workload/exact_math.hpp"
#include "workload/sampler.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

namespace dooly::workload {
namespace {

constexpr double kDefaultWindowSeconds = 600;
constexpr std::size_t kMostBytes = std::size_t{1} << 30;  ///< of a file of lengths, decompressed

std::string read_all(const std::filesystem::path& path) {
  InputStream stream = InputStream::open(path);
  std::string text;
  std::array<char, 65536> buffer;
  while (const std::size_t got = stream.read(buffer.data(), buffer.size())) {
    text.append(buffer.data(), got);
    if (text.size() > kMostBytes)
      throw WorkloadError(path.string() + ": larger than " + std::to_string(kMostBytes >> 20) +
                          " MiB, the most that is read");
  }
  return text;
}

}  // namespace

ServegenPart::ServegenPart(const scenario::TraceSpec& spec, const PartContext& context)
    : spec_(spec),
      context_(context),
      class_(context.classes->index_of(context.default_class)) {
  if (!spec.lengths_path) throw WorkloadError(spec.path.string() + ": format servegen needs a file of lengths");
  files_ = {spec.path, *spec.lengths_path};
  const LengthsByClient lengths = read_lengths(*spec.lengths_path);
  read_rates(lengths);
  finish_clients(lengths);
  left_ = spec.limit.value_or(~std::uint64_t{0});
  sift();
  advance();
}

/// `{4: 0.25, 5: 0.75}`, as Python prints a dict.
ServegenPart::Lengths ServegenPart::parse_lengths(const std::string& text, const std::string& where) {
  Lengths lengths;
  double sum = 0;
  const auto refuse = [&](std::string_view what) {
    throw WorkloadError(fmt::format("{}: want {{length: probability, …}}, got '{}'", where, what.substr(0, 40)));
  };
  std::string_view rest = trim(text);
  if (!rest.starts_with('{') || !rest.ends_with('}')) refuse(rest);
  rest = rest.substr(1, rest.size() - 2);
  while (!trim(rest).empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const std::size_t colon = entry.find(':');
    if (colon == entry.npos) refuse(entry);
    const auto length = whole_in(trim(entry.substr(0, colon)));
    const auto probability = number_in(trim(entry.substr(colon + 1)));
    if (!length || !probability || *length < 0 || *length > kMaxTokens || !(*probability >= 0 && *probability <= 1))
      refuse(entry);
    if (*probability == 0) continue;
    sum += *probability;
    lengths.tokens.push_back(static_cast<std::uint32_t>(std::max<std::int64_t>(*length, 1)));
    lengths.cumulative.push_back(sum);
  }
  if (!lengths.tokens.empty() && !(sum > 0.99 && sum < 1.01))
    throw WorkloadError(fmt::format("{}: probabilities add up to {}", where, sum));
  return lengths;
}

ServegenPart::LengthsByClient ServegenPart::read_lengths(const std::filesystem::path& path) const {
  const auto file = nlohmann::json::parse(read_all(path), nullptr, false);
  if (!file.is_object()) throw WorkloadError(path.string() + ": want a JSON object of clients");
  LengthsByClient all;
  for (const auto& [client, windows] : file.items()) {
    const auto id = unsigned_in(client);
    if (!id || !windows.is_object())
      throw WorkloadError(
          fmt::format("{}: client '{}': want a number and an object of windows", path.string(), client));
    for (const auto& [start, laws] : windows.items()) {
      const auto start_s = number_in(start);
      const std::string where = fmt::format("{}: client {}: window {}", path.string(), client, start);
      if (!start_s || !(*start_s >= 0 && *start_s <= 1e10) || !laws.is_object())
        throw WorkloadError(where + ": want a time and an object");
      const auto law = [&](const char* name) {
        if (!laws.contains(name) || !laws[name].is_string())
          throw WorkloadError(fmt::format("{}: {}: missing", where, name));
        return parse_lengths(laws[name].get<std::string>(), fmt::format("{}: {}", where, name));
      };
      LengthPair pair{law("input_tokens"), law("output_tokens")};
      if (!pair.input.tokens.empty() && !pair.output.tokens.empty()) all[*id].emplace(*start_s, std::move(pair));
    }
  }
  return all;
}

void ServegenPart::read_rates(const LengthsByClient& lengths) {
  static constexpr std::array<std::string_view, 5> kColumns = {"client_id", "timestamp_s", "rate_rps", "pattern",
                                                               "pat_arg1"};
  LineReader lines(InputStream::open(spec_.path));
  CsvSplitter splitter;
  std::vector<std::string_view> cells;
  std::array<std::size_t, 5> at{};
  std::string_view line;
  if (!lines.next(line)) throw WorkloadError(spec_.path.string() + ": is empty");
  if (!splitter.split(line, cells)) cells.clear();
  for (std::size_t i = 0; i < kColumns.size(); ++i) {
    at[i] = static_cast<std::size_t>(std::find(cells.begin(), cells.end(), kColumns[i]) - cells.begin());
    if (at[i] == cells.size())
      throw WorkloadError(
          fmt::format("{}:{}: header: no column '{}'", spec_.path.string(), lines.number(), kColumns[i]));
  }
  const std::size_t width = cells.size();
  std::map<std::uint64_t, Client> clients;
  for (std::uint64_t row = 1; lines.next(line); ++row) {
    const auto refuse = [&](std::string_view field, std::string_view want) {
      throw WorkloadError(
          fmt::format("{}:{}: row {}: {}: want {}", spec_.path.string(), lines.number(), row, field, want));
    };
    if (!splitter.split(line, cells) || cells.size() != width) refuse("row", fmt::format("{} cells", width));
    const auto id = unsigned_in(cells[at[0]]);
    if (!id) refuse("client_id", "a whole number");
    const auto number = [&](std::size_t column, double low, double high) {
      const auto value = number_in(cells[at[column]]);
      if (!value || !(*value >= low && *value <= high))
        refuse(kColumns[column], fmt::format("a number from {} to {}", low, high));
      return *value;
    };
    Window window;
    window.start_s = number(1, 0, 1e10);
    const double rate = number(2, 0, 1e7);
    const std::string_view pattern = cells[at[3]];
    window.weibull = pattern == "Weibull";
    if (!window.weibull && pattern != "Gamma" && pattern != "Exponential")
      refuse("pattern", "Gamma, Weibull or Exponential");
    window.shape = pattern == "Exponential" ? 1 : number(4, window.weibull ? 0.01 : 1e-6, 1e6);
    if (rate == 0 || lengths.count(*id) == 0) continue;
    window.mean_gap_s = 1 / rate;
    window.unit_mean = window.weibull ? exact_gamma(1 + 1 / window.shape) : window.shape;
    Client& client = clients[*id];
    client.id = *id;
    client.windows.push_back(window);
  }
  for (auto& [id, client] : clients) clients_.push_back(std::move(client));
  if (clients_.empty())
    throw WorkloadError(fmt::format("{}: no client has both a rate here and lengths in {}", spec_.path.string(),
                                    spec_.lengths_path->string()));
}

/// Orders the windows, finds where each ends and which lengths it takes.
void ServegenPart::finish_clients(const LengthsByClient& lengths) {
  std::set<double> starts;
  for (Client& client : clients_) {
    for (const Window& window : client.windows) starts.insert(window.start_s);
  }
  double length_s = kDefaultWindowSeconds;
  for (auto at = starts.begin(); std::next(at) != starts.end(); ++at)
    length_s = std::min(length_s, *std::next(at) - *at);
  origin_s_ = *starts.begin();
  span_s_ = *starts.rbegin() + length_s - origin_s_;
  for (Client& client : clients_) {
    std::sort(client.windows.begin(), client.windows.end(),
              [](const Window& a, const Window& b) { return a.start_s < b.start_s; });
    const auto& pairs = lengths.at(client.id);
    for (const auto& [start, pair] : pairs) client.lengths.push_back(pair);
    for (std::size_t i = 0; i < client.windows.size(); ++i) {
      Window& window = client.windows[i];
      if (i > 0 && window.start_s == client.windows[i - 1].start_s)
        throw WorkloadError(
            fmt::format("{}: client {}: window {} twice", spec_.path.string(), client.id, window.start_s));
      window.end_s = window.start_s + length_s;
      auto after = pairs.upper_bound(window.start_s);
      window.lengths = after == pairs.begin() ? 0 : static_cast<std::size_t>(std::distance(pairs.begin(), after)) - 1;
    }
  }
}

std::uint32_t ServegenPart::Lengths::draw(RandomStream& random) const {
  const double at = random.unit() * cumulative.back();
  const auto found = std::upper_bound(cumulative.begin(), cumulative.end(), at);
  return tokens[static_cast<std::size_t>(std::min(found, cumulative.end() - 1) - cumulative.begin())];
}

/// Moves to the client's next request; false: it has none in this pass. A window's process is stationary: its first gap
/// is what is left of a gap that the window's start fell into (length-biased, times a uniform number), so that the
/// expected number of requests is rate times length whatever the law.
bool ServegenPart::step(Client& client) const {
  bool entered = client.next_s < client.windows[client.window].start_s;
  for (; client.window < client.windows.size(); ++client.window, entered = true) {
    const Window& window = client.windows[client.window];
    double unit = 0;
    if (entered && window.weibull) {
      const double y = client.gaps.gamma(1 + 1 / window.shape);
      unit = exact_exp(exact_log(std::max(y, 1e-300)) / window.shape) * client.gaps.unit();
    } else if (entered) {
      unit = client.gaps.gamma(window.shape + 1) * client.gaps.unit();
    } else {
      unit = window.weibull ? client.gaps.weibull(window.shape) : client.gaps.gamma(window.shape);
    }
    const double from = entered ? window.start_s : client.next_s;
    client.next_s = from + unit / window.unit_mean * window.mean_gap_s;
    if (client.next_s < window.end_s) return true;
  }
  return false;
}

/// Starts a pass: every client before its first window.
void ServegenPart::sift() {
  heap_.clear();
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    client.gaps = RandomStream(context_.seed, context_.stream_name(fmt::format("gaps/{}", client.id)), pass_);
    client.sizes = RandomStream(context_.seed, context_.stream_name(fmt::format("lengths/{}", client.id)), pass_);
    client.window = 0;
    client.next_s = -1;
    if (step(client)) heap_.push_back(i);
  }
  const auto later = [this](std::size_t a, std::size_t b) {
    return clients_[a].next_s != clients_[b].next_s ? clients_[a].next_s > clients_[b].next_s : a > b;
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
}

void ServegenPart::advance() {
  while (heap_.empty() && ++pass_ < spec_.loop) {
    shift_s_ = static_cast<double>(pass_) * span_s_;
    sift();
  }
  next_arrival_s_ = kNever;
  if (heap_.empty() || left_ == 0) return;
  const double time_s = (clients_[heap_.front()].next_s - origin_s_ + shift_s_) / spec_.speedup;
  if (time_s < spec_.duration_s.value_or(kNever)) next_arrival_s_ = time_s;
}

void ServegenPart::take(Request& into) {
  const auto later = [this](std::size_t a, std::size_t b) {
    return clients_[a].next_s != clients_[b].next_s ? clients_[a].next_s > clients_[b].next_s : a > b;
  };
  std::pop_heap(heap_.begin(), heap_.end(), later);
  Client& client = clients_[heap_.back()];
  const LengthPair& lengths = client.lengths[client.windows[client.window].lengths];
  into.arrival_s = next_arrival_s_;
  into.prompt_tokens = lengths.input.draw(client.sizes);
  into.output_tokens = lengths.output.draw(client.sizes);
  into.request_class = class_;
  into.priority = context_.priority;
  into.session = kNoSession;
  into.turn = 0;
  into.after_s = -1;
  into.deadline_s = 0;
  into.truncated = false;
  into.ticket = kNoTicket;
  clear_content(into);
  if (spec_.too_long == scenario::TraceSpec::TooLong::kTruncate && context_.max_model_len)
    truncate(into, context_.max_model_len(context_.classes->names()[class_]));
  --left_;
  if (step(client)) {
    std::push_heap(heap_.begin(), heap_.end(), later);
  } else {
    heap_.pop_back();
  }
  advance();
}

TraceColumns ServegenPart::columns() const {
  TraceColumns columns;
  columns.request_class = true;
  columns.priority = context_.priority != 0;
  return columns;
}

}  // namespace dooly::workload
