#include "oracle_store/sources.hpp"

#include "oracle_store/portable_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace dooly::store {
namespace {

using oracle::Environment;
using oracle::OperatorKey;
using oracle::Sample;
using oracle::SampleSet;
using oracle::Signature;

/// One store or file of a source.
class Part {
 public:
  virtual ~Part() = default;
  virtual std::string name() const = 0;
  virtual std::vector<std::pair<std::string, Environment>> environments() const = 0;
  virtual std::vector<Signature> signatures(const std::string& environment) const = 0;
  virtual std::optional<OperatorKey> key(const Signature& signature) const = 0;
  virtual std::vector<Sample> samples(const std::string& environment, const Signature& signature) const = 0;
};

class DirectoryPart final : public Part {
 public:
  explicit DirectoryPart(const std::filesystem::path& path)
      : name_(path.string()),
        store_(SignatureStore::open(path, SignatureStore::Mode::kRead)) {}
  std::string name() const override { return name_; }
  std::vector<std::pair<std::string, Environment>> environments() const override { return store_.environments(); }
  std::vector<Signature> signatures(const std::string& environment) const override {
    return store_.signatures(environment);
  }
  std::optional<OperatorKey> key(const Signature& signature) const override { return store_.key(signature); }
  std::vector<Sample> samples(const std::string& environment, const Signature& signature) const override {
    return store_.samples(environment, signature);
  }

 private:
  std::string name_;
  SignatureStore store_;
};

class FilePart final : public Part {
 public:
  explicit FilePart(const std::filesystem::path& path) : name_(path.string()) {
    PortableReader reader(path);
    for (Record record; reader.next(record);) take(record);
  }
  std::string name() const override { return name_; }
  std::vector<std::pair<std::string, Environment>> environments() const override { return environments_; }
  std::vector<Signature> signatures(const std::string& environment) const override {
    std::vector<Signature> found;
    for (auto at = series_.lower_bound({environment, {}}); at != series_.end() && at->first.first == environment; ++at)
      found.push_back(at->first.second);
    return found;
  }
  std::optional<OperatorKey> key(const Signature& signature) const override {
    const auto found = keys_.find(signature);
    return found == keys_.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<Sample> samples(const std::string& environment, const Signature& signature) const override {
    const auto found = series_.find({environment, signature});
    return found == series_.end() ? std::vector<Sample>{} : found->second;
  }

 private:
  void take(const Record& record) {
    if (const auto* environment = std::get_if<EnvironmentRecord>(&record))
      environments_.emplace_back(environment->id, environment->environment);
    if (const auto* key = std::get_if<KeyRecord>(&record)) keys_.emplace(key->signature, key->key);
    if (const auto* sample = std::get_if<SampleRecord>(&record)) {
      if (last_ == nullptr || *last_environment_ != sample->environment_id || *last_signature_ != sample->signature) {
        const auto at = series_.try_emplace({sample->environment_id, sample->signature}).first;
        last_ = &at->second;
        last_environment_ = &at->first.first;
        last_signature_ = &at->first.second;
      }
      last_->push_back(sample->sample);
    }
  }

  std::string name_;
  std::vector<std::pair<std::string, Environment>> environments_;
  std::map<Signature, OperatorKey> keys_;
  std::map<std::pair<std::string, Signature>, std::vector<Sample>> series_;
  std::vector<Sample>* last_ = nullptr;  ///< series of the sample read last
  const std::string* last_environment_ = nullptr;
  const Signature* last_signature_ = nullptr;
};

std::unique_ptr<Part> open_part(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return std::make_unique<DirectoryPart>(path);
  return std::make_unique<FilePart>(path);
}

/// Two sorted lists as one. A point that both hold must be equal.
std::vector<Sample> united(const std::vector<Sample>& left, const std::vector<Sample>& right, const Part& later,
                           const std::string& environment, const Signature& signature) {
  const auto before = [](const Sample& a, const Sample& b) {
    return std::tie(a.regime, a.point) < std::tie(b.regime, b.point);
  };
  std::vector<Sample> both;
  std::merge(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(both), before);
  for (std::size_t i = 1; i < both.size(); ++i)
    if (!before(both[i - 1], both[i]) && !(both[i - 1] == both[i]))
      throw StoreError(fmt::format("{}: {}: another source holds other figures; `dooly store diff` shows them",
                                   later.name(), title(SampleRecord{environment, signature, both[i]})));
  both.erase(std::unique(both.begin(), both.end()), both.end());
  return both;
}

class MergedSource final : public oracle::SampleSource {
 public:
  MergedSource(std::vector<std::unique_ptr<Part>> parts, const EnvironmentChoice& choice) : parts_(std::move(parts)) {
    for (const auto& part : parts_)
      for (const auto& [id, environment] : part->environments()) {
        const std::optional<int> rank = choice ? choice(id, environment) : 0;
        if (!rank) continue;
        Chosen& chosen = environments_.try_emplace({*rank, id}).first->second;
        chosen.title = title(environment);
        chosen.parts.push_back(part.get());
      }
  }

  std::vector<Sample> samples(const Signature& signature) const override {
    Answer answer = answer_of(signature);
    if (answer.from.size() > 1) refuse_all(signature, answer.from);
    return std::move(answer.samples);
  }

  std::vector<SampleSet> sets() const override {
    std::set<Signature> signatures;
    for (const auto& [id, chosen] : environments_)
      for (const Part* part : chosen.parts)
        for (const Signature& signature : part->signatures(id.second)) signatures.insert(signature);
    std::vector<SampleSet> sets;
    for (const Signature& signature : signatures)
      if (Answer answer = answer_of(signature); answer.from.size() == 1)
        sets.push_back({key_of(signature), signature, std::move(answer.samples)});
    return sets;
  }

  std::string describe() const override {
    std::string text;
    for (const auto& [id, chosen] : environments_) {
      text +=
          fmt::format("{}environment {} ({}) from ", text.empty() ? "" : "; ", id.second.substr(0, 12), chosen.title);
      for (std::size_t i = 0; i < chosen.parts.size(); ++i) text += (i > 0 ? ", " : "") + chosen.parts[i]->name();
    }
    return text.empty() ? "no environment" : text;
  }

 private:
  struct Chosen {
    std::string title;
    std::vector<const Part*> parts;
  };
  using Environments = std::map<std::pair<int, std::string>, Chosen>;  ///< by rank and id

  struct Answer {
    std::vector<Sample> samples;
    std::vector<const Environments::value_type*> from;  ///< several: none of them may stand for the others
  };

  Answer answer_of(const Signature& signature) const {
    Answer answer;
    for (const auto& environment : environments_) {
      if (!answer.from.empty() && environment.first.first != answer.from.front()->first.first) break;
      std::vector<Sample> here = samples_in(environment.first.second, environment.second, signature);
      if (here.empty()) continue;
      answer.from.push_back(&environment);
      answer.samples = std::move(here);
    }
    return answer;
  }

  static std::vector<Sample> samples_in(const std::string& id, const Chosen& chosen, const Signature& signature) {
    std::vector<Sample> found;
    for (const Part* part : chosen.parts) {
      std::vector<Sample> more = part->samples(id, signature);
      if (found.empty())
        found = std::move(more);
      else if (!more.empty())
        found = united(found, more, *part, id, signature);
    }
    return found;
  }

  [[noreturn]] void refuse_all(const Signature& signature,
                               const std::vector<const Environments::value_type*>& answered) const {
    std::string all;
    for (const auto* each : answered)
      all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", each->first.second.substr(0, 12), each->second.title);
    throw StoreError(fmt::format(
        "{} was measured in {} environments: {}; say which one to use, by its id: --environment, or of a "
        "scenario's oracle the key environment; there the store may be listed twice, each time with another "
        "environment, and what the first lacks the second answers",
        title(key_of(signature)), answered.size(), all));
  }

  OperatorKey key_of(const Signature& signature) const {
    for (const auto& part : parts_)
      if (auto key = part->key(signature)) return *std::move(key);
    throw StoreDamaged("operator " + signature.hex() + " is in no source, but samples of it are");
  }

  std::vector<std::unique_ptr<Part>> parts_;
  Environments environments_;
};

/// A store's records, with the store.
class OwnedRecords final : public RecordStream {
 public:
  explicit OwnedRecords(SignatureStore store) : store_(std::move(store)), records_(store_.records()) {}
  bool next(Record& record) override { return records_->next(record); }
  const std::string& name() const override { return records_->name(); }

 private:
  SignatureStore store_;
  std::unique_ptr<RecordStream> records_;
};

}  // namespace

std::unique_ptr<oracle::SampleSource> open_sample_source(const std::vector<std::filesystem::path>& paths,
                                                         const EnvironmentChoice& choice) {
  std::vector<std::unique_ptr<Part>> parts;
  for (const std::filesystem::path& path : paths) parts.push_back(open_part(path));
  return std::make_unique<MergedSource>(std::move(parts), choice);
}

std::unique_ptr<RecordStream> open_records(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path))
    return std::make_unique<OwnedRecords>(SignatureStore::open(path, SignatureStore::Mode::kRead));
  return std::make_unique<PortableReader>(path);
}

void BatchedWriter::put_waiting() {
  if (!waiting_.empty()) store_.put_all(environment_id_, signature_, waiting_);
  waiting_.clear();
}

void BatchedWriter::put(const Record& record) {
  constexpr std::size_t kBatch = 4096;
  const auto* sample = std::get_if<SampleRecord>(&record);
  if (sample == nullptr) {
    put_waiting();
    store_.put_record(record);
    return;
  }
  if (waiting_.size() == kBatch || sample->environment_id != environment_id_ || sample->signature != signature_) {
    put_waiting();
    environment_id_ = sample->environment_id;
    signature_ = sample->signature;
  }
  waiting_.push_back(sample->sample);
}

void BatchedWriter::finish() {
  put_waiting();
  store_.sync();
}

std::uint64_t import_records(RecordStream& records, SignatureStore& store) {
  BatchedWriter writer(store);
  std::uint64_t count = 0;
  for (Record record; records.next(record); ++count) writer.put(record);
  writer.finish();
  return count;
}

}  // namespace dooly::store
