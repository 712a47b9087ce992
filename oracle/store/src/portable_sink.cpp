#include "oracle_store/portable_file.hpp"

#include "oracle_store/record_set.hpp"
#include "oracle_store/store_error.hpp"
#include "portable_line.hpp"
#include "zstd_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace dooly::store {
class PortableSink::Impl {
 public:
  Impl(const std::filesystem::path& path, Sync sync)
      : path_(path),
        partial_path_(path.string() + ".partial"),
        sync_(sync),
        partial_(open_alone(partial_path_)) {
    try {
      take_finished();
      take_partial();
    } catch (...) {  // nothing is left behind, but for what a run before has saved
      std::error_code ignored;
      if (std::filesystem::file_size(partial_path_, ignored) == 0) std::filesystem::remove(partial_path_, ignored);
      throw;
    }
  }

  void environment(const oracle::Environment& environment) {
    records_.environment(environment);
    save(EnvironmentRecord{records_.environment_id(), environment});
  }

  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) {
    const oracle::Signature signature = oracle::signature_of(key);
    try {
      records_.sample(key, sample);
    } catch (const StoreError& error) {
      throw StoreError(path_.string() + ": " + error.what());
    }
    save(KeyRecord{signature, key});
    save(SampleRecord{records_.environment_id(), signature, sample});
  }

  void document(const CommRecord& record) {
    records_.put(record);
    save(record);
  }

  bool has(const oracle::OperatorKey& key, oracle::ClockRegime regime, const oracle::SamplePoint& point) const {
    SampleRecord record{records_.environment_id(), oracle::signature_of(key), {}};
    record.sample.regime = regime;
    record.sample.point = point;
    return records_.contains(record);
  }

  std::vector<oracle::SampleSet> sets() const {
    std::vector<oracle::SampleSet> out;
    std::map<oracle::Signature, oracle::OperatorKey> keys;
    const auto stream = records_.stream(path_.string());
    for (Record record; stream->next(record);) {
      if (auto* key = std::get_if<KeyRecord>(&record)) keys.emplace(key->signature, std::move(key->key));
      auto* sample = std::get_if<SampleRecord>(&record);
      if (sample == nullptr || sample->environment_id != records_.environment_id()) continue;
      if (out.empty() || out.back().signature != sample->signature)
        out.push_back({keys.at(sample->signature), sample->signature, {}});
      out.back().samples.push_back(std::move(sample->sample));
    }
    return out;
  }

  std::uint64_t finish() {
    PortableWriter writer(path_, true);
    const auto stream = records_.stream(path_.string());
    for (Record record; stream->next(record);) writer.write(record);
    const std::uint64_t written = writer.finish();
    std::filesystem::remove(partial_path_);
    partial_.reset();
    return written;
  }

 private:
  void take_finished() {
    if (!std::filesystem::exists(path_)) return;
    PortableReader reader(path_);
    for (Record record; reader.next(record);) records_.put(record);
  }

  /// Lines of a run that did not finish; the last one may be torn.
  void take_partial() {
    std::ifstream file(partial_path_, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    std::string text = content.str();
    const std::size_t sound = text.rfind('\n') + 1;  // npos + 1 is 0
    if (sound == 0 && !text.empty() && text.front() != '{')
      throw StoreDamaged(partial_path_.string() + ": is in the way, no sweep wrote it");
    std::istringstream lines(text.substr(0, sound));
    std::uint64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      try {
        Record record = parse_portable_line(line);
        if (!std::holds_alternative<SampleRecord>(record)) saved_.insert(line);
        records_.put(std::move(record));
      } catch (const StoreError& error) {
        throw StoreDamaged(fmt::format("{}:{}: {}", partial_path_.string(), number, error.what()));
      }
    }
    if (sound < text.size()) std::filesystem::resize_file(partial_path_, sound);  // what is before it is ours, so is it
  }

  /// Appends a line that stays after a crash. All but samples once.
  void save(const Record& record) {
    const bool is_sample = std::holds_alternative<SampleRecord>(record);
    line_.clear();
    append_portable_line(line_, record);
    if (!is_sample && !saved_.insert(line_).second) return;
    line_ += '\n';
    const bool syncs = is_sample && sync_ == Sync::kEachSample;
    const bool written = std::fwrite(line_.data(), 1, line_.size(), partial_.get()) == line_.size() &&
                         std::fflush(partial_.get()) == 0 && (!syncs || ::fdatasync(::fileno(partial_.get())) == 0);
    if (!written) throw StoreWriteFailed(partial_path_.string() + ": cannot be written: " + std::strerror(errno));
  }

  std::filesystem::path path_, partial_path_;
  Sync sync_;
  File partial_;
  RecordSet records_;
  std::set<std::string> saved_;  ///< environments, keys and documents in the partial file
  std::string line_;
};

PortableSink::PortableSink(const std::filesystem::path& path, Sync sync) : impl_(std::make_unique<Impl>(path, sync)) {}
PortableSink::~PortableSink() = default;
void PortableSink::environment(const oracle::Environment& environment) { impl_->environment(environment); }
void PortableSink::sample(const oracle::OperatorKey& key, const oracle::Sample& sample) { impl_->sample(key, sample); }
void PortableSink::document(const CommRecord& record) { impl_->document(record); }
bool PortableSink::has(const oracle::OperatorKey& key, oracle::ClockRegime regime,
                       const oracle::SamplePoint& point) const {
  return impl_->has(key, regime, point);
}
std::vector<oracle::SampleSet> PortableSink::sets() const { return impl_->sets(); }
std::uint64_t PortableSink::finish() { return impl_->finish(); }

}  // namespace dooly::store
