#include "bench_result_reader.hpp"

#include "workload/sampler.hpp"
#include "workload/workload_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

namespace dooly::workload {
namespace {

using Json = nlohmann::json;

/// Characters of a stream, for the parser.
class CharIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;
  struct Buffer {
    InputStream& stream;
    std::array<char, 65536> bytes;
    std::size_t at = 0, end = 0;
    bool fill() {
      if (at == end) {
        at = 0;
        end = stream.read(bytes.data(), bytes.size());
      }
      return at < end;
    }
  };
  CharIterator() = default;
  explicit CharIterator(Buffer& buffer) : buffer_(buffer.fill() ? &buffer : nullptr) {}
  char operator*() const { return buffer_->bytes[buffer_->at]; }
  CharIterator& operator++() {
    ++buffer_->at;
    if (!buffer_->fill()) buffer_ = nullptr;
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(const CharIterator& other) const { return buffer_ == other.buffer_; }
  bool operator!=(const CharIterator& other) const { return buffer_ != other.buffer_; }

 private:
  Buffer* buffer_ = nullptr;
};

/// Keeps the numbers of the wanted top-level lists, drops all else as it comes.
struct Collector : nlohmann::json_sax<Json> {
  std::string file;
  std::vector<double>*input, *output, *start;
  std::vector<double>* current = nullptr;
  std::string current_name;
  int depth = 0;

  bool add(double value) {
    if (current != nullptr && depth == 2) current->push_back(value);
    return true;
  }
  bool odd(const char* what) {
    if (current != nullptr && depth == 2)
      throw WorkloadError(
          fmt::format("{}: row {}: {}: want a number, got {}", file, current->size() + 1, current_name, what));
    return true;
  }
  bool null() override { return odd("null"); }
  bool boolean(bool) override { return odd("a boolean"); }
  bool number_integer(Json::number_integer_t value) override { return add(static_cast<double>(value)); }
  bool number_unsigned(Json::number_unsigned_t value) override { return add(static_cast<double>(value)); }
  bool number_float(Json::number_float_t value, const Json::string_t&) override { return add(value); }
  bool string(Json::string_t&) override { return odd("a string"); }
  bool binary(Json::binary_t&) override { return odd("bytes"); }
  bool key(Json::string_t& name) override {
    if (depth != 1) return true;
    current_name = name;
    current = name == "input_lens" ? input : name == "output_lens" ? output : name == "start_times" ? start : nullptr;
    if (current != nullptr && !current->empty()) throw WorkloadError(fmt::format("{}: {}: given twice", file, name));
    return true;
  }
  bool start_object(std::size_t) override { return odd("an object") && ++depth > 0; }
  bool start_array(std::size_t) override {
    if (depth == 0) throw WorkloadError(file + ": want a JSON object, got a list");
    return odd("a list") && ++depth > 0;
  }
  bool end_object() override { return --depth >= 0; }
  bool end_array() override { return --depth >= 0; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    throw WorkloadError(fmt::format("{}: byte {}: {}", file, position, error.what()));
  }
};

}  // namespace

BenchResultReader::BenchResultReader(InputStream stream) : TraceReader(stream.name(), "vllm-bench") {
  auto buffer = std::make_unique<CharIterator::Buffer>(CharIterator::Buffer{.stream = stream, .bytes = {}});
  Collector collector;
  collector.file = stream.name();
  collector.input = &input_, collector.output = &output_, collector.start = &start_;
  Json::sax_parse(CharIterator(*buffer), CharIterator(), &collector);
  const auto need = [&](const std::vector<double>& list, const char* field, const char* hint) {
    if (list.empty()) throw WorkloadError(fmt::format("{}: {}: missing{}", stream.name(), field, hint));
    if (list.size() != input_.size())
      throw WorkloadError(
          fmt::format("{}: {}: want {} entries, have {}", stream.name(), field, input_.size(), list.size()));
  };
  need(input_, "input_lens", ": save the result with --save-detailed");
  need(output_, "output_lens", "");
  need(start_, "start_times", ": this result has no start times; newer versions of the benchmark write them");
  order_.resize(start_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  TraceRow row;
  for (std::size_t i = 0; i < start_.size(); ++i) {
    row.row = i + 1;
    if (!std::isfinite(start_[i])) refuse(row, "start_times", "not a finite number");
  }
  std::stable_sort(order_.begin(), order_.end(),
                   [this](std::size_t a, std::size_t b) { return start_[a] < start_[b]; });
}

bool BenchResultReader::next(TraceRow& row) {
  if (at_ == order_.size()) return false;
  const std::size_t i = order_[at_++];
  row = TraceRow{};
  row.row = i + 1;
  const auto tokens = [&](double value, const char* field, const char* hint) {
    if (!(value >= 1 && value <= kMaxTokens) || value != std::floor(value))
      refuse(row, field, fmt::format("must be a whole number from 1 to {}, got {}{}", kMaxTokens, value, hint));
    return static_cast<std::uint32_t>(value);
  };
  row.prompt_tokens = tokens(input_[i], "input_lens", "");
  row.output_tokens =
      tokens(output_[i], "output_lens", output_[i] == 0 ? " (a request that failed in the benchmark)" : "");
  row.arrival_s = start_[i] - start_[order_[0]];
  if (!(*row.arrival_s <= 1e10)) refuse(row, "start_times", fmt::format("{} s after the first", *row.arrival_s));
  return true;
}

}  // namespace dooly::workload
