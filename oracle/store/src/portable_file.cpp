#include "oracle_store/portable_file.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/physical_limit.hpp"
#include "oracle/sha256.hpp"
#include "oracle_store/store_error.hpp"
#include "portable_line.hpp"
#include "zstd_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>
#include <set>

namespace dooly::store {
namespace {

constexpr std::string_view kHeader = R"({"format":"dooly-store","record":"header","version":1})";

std::string checksum_line(const std::string& sha256, std::uint64_t lines) {
  return fmt::format(R"({{"lines":{},"record":"end","sha256":"{}"}})", lines, sha256);
}

/// What must hold from record to record, for readers and writers alike. `fault` of the next record; empty: fine.
class Sequence {
 public:
  std::string fault(const Record& record) {
    if (any_ && std::is_gteq(compare_identity(previous_, record)))
      return std::is_eq(compare_identity(previous_, record))
                 ? title(record) + ": stands twice"
                 : title(record) + ": out of order, comes after " + title(previous_);
    if (const auto* environment = std::get_if<EnvironmentRecord>(&record)) {
      if (oracle::environment_id(environment->environment) != environment->id)
        return title(record) + ": its id is not that of the environment";
      environments_.insert(environment->id);
    } else if (const auto* key = std::get_if<KeyRecord>(&record)) {
      if (oracle::signature_of(key->key) != key->signature)
        return title(record) + ": its signature is not that of the key";
      if (const std::string problem = oracle::work_fault(key->key); !problem.empty())
        return title(record) + ": " + problem;
      keys_.insert(key->signature);
    } else if (const auto* sample = std::get_if<SampleRecord>(&record)) {
      if (const std::string problem = fault_of(sample->sample); !problem.empty()) return title(record) + ": " + problem;
      if (const std::string problem = missing_link(*sample); !problem.empty()) return title(record) + ": " + problem;
    }
    remember(record);
    return {};
  }

 private:
  std::string missing_link(const SampleRecord& sample) const {
    if (const auto* before = std::get_if<SampleRecord>(&previous_); any_ && before != nullptr &&
                                                                    before->environment_id == sample.environment_id &&
                                                                    before->signature == sample.signature)
      return {};
    if (!environments_.contains(sample.environment_id)) return "its environment is not in the file";
    return keys_.contains(sample.signature) ? "" : "its operator is not in the file";
  }
  /// Of a sample only what tells it from others: texts would be copied each time.
  void remember(const Record& record) {
    any_ = true;
    const auto* sample = std::get_if<SampleRecord>(&record);
    if (sample == nullptr) {
      previous_ = record;
      return;
    }
    auto* kept = std::get_if<SampleRecord>(&previous_);
    if (kept == nullptr) kept = &previous_.emplace<SampleRecord>();
    kept->environment_id = sample->environment_id;
    kept->signature = sample->signature;
    kept->sample.regime = sample->sample.regime;
    kept->sample.point = sample->sample.point;
  }

  bool any_ = false;
  Record previous_;
  std::set<std::string> environments_;
  std::set<oracle::Signature> keys_;
};

}  // namespace

// --- writing

class PortableWriter::Impl {
 public:
  explicit Impl(const std::filesystem::path& path) : output_(path) { put(kHeader); }

  void write(const Record& record) {
    if (const std::string fault = sequence_.fault(record); !fault.empty())
      throw StoreError(output_.path().string() + ": " + fault);
    line_.clear();
    try {
      append_portable_line(line_, record);
    } catch (const oracle::OracleError& error) {
      throw StoreError(fmt::format("{}: {}: {}", output_.path().string(), title(record), error.what()));
    }
    put(line_);
  }

  std::uint64_t finish() {
    const std::uint64_t records = lines_ - 1;
    const std::string end = checksum_line(hash_.finish_hex(), lines_);
    put(end);
    output_.write(pending_);
    output_.commit();
    return records;
  }

  const std::filesystem::path& temporary() const { return output_.temporary(); }

 private:
  void put(std::string_view line) {
    const std::size_t from = pending_.size();
    pending_ += line;
    pending_ += '\n';
    hash_.update(std::string_view(pending_).substr(from));
    ++lines_;
    if (pending_.size() < 1 << 17) return;
    output_.write(pending_);
    pending_.clear();
  }

  ZstdOutput output_;
  Sequence sequence_;
  oracle::Sha256 hash_;
  std::uint64_t lines_ = 0;
  std::string line_, pending_;
};

PortableWriter::PortableWriter(const std::filesystem::path& path, bool of_sweep) {
  if (const std::filesystem::path partial = path.string() + ".partial"; !of_sweep && is_written(partial))
    throw StoreError(path.string() + ": another process is measuring into this file");
  impl_ = std::make_unique<Impl>(path);
}
PortableWriter::~PortableWriter() = default;
void PortableWriter::write(const Record& record) { impl_->write(record); }
const std::filesystem::path& PortableWriter::temporary() const { return impl_->temporary(); }
std::uint64_t PortableWriter::finish() { return impl_->finish(); }

// --- reading

class PortableReader::Impl {
 public:
  explicit Impl(const std::filesystem::path& path) : input_(path), name_(path.string()) {
    std::string_view line;
    if (!input_.next(line)) input_.fail("the file is empty");
    check_header(line);
    count(line);
  }

  bool next(Record& record) {
    std::string_view line;
    if (!input_.next(line)) input_.fail("the file is cut off: its last line is no checksum");
    if (may_be_end(line) && is_end(line)) return false;
    try {
      parse_portable_line(line, record);
    } catch (const StoreError& error) {
      input_.fail(error.what());
    }
    if (const std::string fault = sequence_.fault(record); !fault.empty()) input_.fail(fault);
    count(line);
    return true;
  }
  const std::string& name() const { return name_; }

 private:
  void count(std::string_view line) {
    hash_.update(line).update("\n");
    ++lines_;
  }

  /// In another spelling; without a byte order mark and a carriage return, which programs that rewrite text leave.
  static bool is_spelt_header(std::string_view line) {
    try {
      return !line.starts_with('\xef') && !line.ends_with('\r') && oracle::canonical_form(line, "header") == kHeader;
    } catch (const oracle::OracleError&) {
      return false;
    }
  }

  void check_header(std::string_view line) {
    if (line == kHeader || is_spelt_header(line)) return;
    const nlohmann::json header = nlohmann::json::parse(line, nullptr, false);
    if (!header.is_object() || header.value("format", nlohmann::json()) != "dooly-store")
      throw StoreError(name_ + ": is no portable store: its first line should be " + std::string(kHeader));
    if (header.value("version", nlohmann::json()) == 1)
      throw StoreError(
          fmt::format("{}: its first line must be this and a line feed, without carriage return, "
                      "byte order mark or other members: {}",
                      name_, kHeader));
    throw StoreError(fmt::format("{}: holds schema version {}, this program reads and writes version 1", name_,
                                 header.value("version", nlohmann::json()).dump()));
  }

  /// Its word may be spelt with escapes.
  static bool may_be_end(std::string_view line) {
    return line.find(R"("end")") != std::string_view::npos || line.find(R"(\u)") != std::string_view::npos;
  }

  /// In any spelling, but of these members alone.
  void check_end_members(std::string_view line, const nlohmann::json& end) const {
    try {
      oracle::canonical_form(line, "line");
    } catch (const oracle::OracleError& error) {
      input_.fail(error.what());
    }
    for (const auto& [name, value] : end.items())
      if (name != "record" && name != "lines" && name != "sha256") input_.fail(name + ": unknown");
    if (const nlohmann::json lines = end.value("lines", nlohmann::json()); !lines.is_number_unsigned())
      input_.fail("lines: must be a whole number, got " + lines.dump());
  }

  /// False: a record that only looks like it.
  bool is_end(std::string_view line) {
    const nlohmann::json end = nlohmann::json::parse(line, nullptr, false);
    if (!end.is_object() || end.value("record", nlohmann::json()) != "end") return false;
    check_end_members(line, end);
    if (end.value("lines", nlohmann::json()) != lines_)
      input_.fail(fmt::format("the checksum is of {} lines, but {} stand before it",
                              end.value("lines", nlohmann::json()).dump(), lines_));
    if (const std::string sum = hash_.finish_hex(); end.value("sha256", nlohmann::json()) != sum)
      input_.fail("the checksum differs: the lines before it hash to " + sum);
    if (std::string_view more; input_.next(more)) input_.fail("more lines after the checksum");
    return true;
  }

  LineInput input_;
  std::string name_;
  Sequence sequence_;
  oracle::Sha256 hash_;
  std::uint64_t lines_ = 0;
};

PortableReader::PortableReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
PortableReader::~PortableReader() = default;
bool PortableReader::next(Record& record) { return impl_->next(record); }
const std::string& PortableReader::name() const { return impl_->name(); }

}  // namespace dooly::store
