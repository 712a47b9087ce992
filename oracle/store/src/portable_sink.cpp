#include "oracle_store/portable_file.hpp"
#include "oracle_store/store_error.hpp"
#include "portable_line.hpp"
#include "zstd_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

namespace dooly::store {
namespace {

struct ByIdentity {
  bool operator()(const Record& left, const Record& right) const { return compare_identity(left, right) < 0; }
};

}  // namespace

class PortableSink::Impl {
 public:
  explicit Impl(const std::filesystem::path& path) : path_(path), partial_path_(path.string() + ".partial") {
    if (std::filesystem::exists(path_)) {
      PortableReader reader(path_);
      for (Record record; reader.next(record);) records_.insert(record);
    }
    if (std::filesystem::exists(partial_path_)) take_partial();
    partial_.reset(std::fopen(partial_path_.c_str(), "ab"));
    if (!partial_) throw StoreError(partial_path_.string() + ": cannot be written: " + std::strerror(errno));
  }

  void environment(const oracle::Environment& environment) {
    environment_id_ = oracle::environment_id(environment);
    take(EnvironmentRecord{environment_id_, environment});
  }

  void sample(const oracle::OperatorKey& key, const oracle::Sample& sample) {
    if (environment_id_.empty()) throw StoreError(path_.string() + ": a sample came before its environment");
    const oracle::Signature signature = oracle::signature_of(key);
    const SampleRecord record{environment_id_, signature, sample};
    if (const std::string fault = fault_of(sample); !fault.empty())
      throw StoreError(fmt::format("{}: {}: {}", path_.string(), title(record, &key), fault));
    take(KeyRecord{signature, key});
    take(record);
  }

  bool has(const oracle::OperatorKey& key, oracle::ClockRegime regime, const oracle::SamplePoint& point) const {
    SampleRecord record{environment_id_, oracle::signature_of(key), {}};
    record.sample.regime = regime;
    record.sample.point = point;
    return records_.contains(record);
  }

  std::uint64_t finish() {
    PortableWriter writer(path_);
    for (const Record& record : records_) writer.write(record);
    const std::uint64_t written = writer.finish();
    partial_.reset();
    std::filesystem::remove(partial_path_);
    return written;
  }

 private:
  /// Lines of a run that did not finish; the last one may be torn.
  void take_partial() {
    std::ifstream file(partial_path_, std::ios::binary);
    std::stringstream content;
    content << file.rdbuf();
    std::string text = content.str();
    const std::size_t sound = text.rfind('\n') + 1;  // npos + 1 is 0
    if (sound < text.size()) std::filesystem::resize_file(partial_path_, sound);
    text.resize(sound);
    std::istringstream lines(text);
    std::uint64_t number = 0;
    for (std::string line; std::getline(lines, line);) {
      ++number;
      try {
        keep(parse_portable_line(line));
      } catch (const StoreError& error) {
        throw StoreDamaged(fmt::format("{}:{}: {}", partial_path_.string(), number, error.what()));
      }
    }
  }

  void keep(Record record) {
    const auto [at, is_new] = records_.insert(record);
    if (is_new) return;
    const auto hint = records_.erase(at);
    records_.insert(hint, std::move(record));
  }

  void take(const Record& record) {
    if (const auto known = records_.find(record); known != records_.end() && *known == record) return;
    line_.clear();
    append_portable_line(line_, record);
    line_ += '\n';
    if (std::fwrite(line_.data(), 1, line_.size(), partial_.get()) != line_.size() ||
        std::fflush(partial_.get()) != 0 || ::fdatasync(::fileno(partial_.get())) != 0)
      throw StoreError(partial_path_.string() + ": cannot be written: " + std::strerror(errno));
    keep(record);
  }

  std::filesystem::path path_, partial_path_;
  File partial_;
  std::string environment_id_;  ///< of the samples that come
  std::set<Record, ByIdentity> records_;
  std::string line_;
};

PortableSink::PortableSink(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
PortableSink::~PortableSink() = default;
void PortableSink::environment(const oracle::Environment& environment) { impl_->environment(environment); }
void PortableSink::sample(const oracle::OperatorKey& key, const oracle::Sample& sample) { impl_->sample(key, sample); }
bool PortableSink::has(const oracle::OperatorKey& key, oracle::ClockRegime regime,
                       const oracle::SamplePoint& point) const {
  return impl_->has(key, regime, point);
}
std::uint64_t PortableSink::finish() { return impl_->finish(); }

}  // namespace dooly::store
