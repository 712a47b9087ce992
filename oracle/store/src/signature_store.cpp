#include "oracle_store/signature_store.hpp"

#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "record_codec.hpp"
#include "store_impl.hpp"

#include <fmt/format.h>
#include <rocksdb/write_batch.h>

#include <cstring>

namespace dooly::store {

using oracle::Environment;
using oracle::OperatorKey;
using oracle::Sample;
using oracle::Signature;

std::string raw_id(const std::string& environment_id) {
  if (!is_id(environment_id))
    throw StoreError("an environment is named by 64 hex digits, got '" + environment_id + "'");
  return series_prefix(environment_id, Signature{}).substr(0, 32);
}

OperatorKey parsed_key(std::string_view key, std::string_view payload) {
  try {
    OperatorKey parsed = oracle::parse_operator_key(payload);
    if (bytes_of(oracle::signature_of(parsed)) == key) return parsed;
  } catch (const oracle::OracleError& error) {
    throw StoreDamaged("operator " + hex_of(key) + ": " + error.what());
  }
  throw StoreDamaged("operator " + hex_of(key) + ": its key has another signature");
}

Environment parsed_environment(std::string_view key, std::string_view payload) {
  try {
    Environment parsed = oracle::parse_environment(payload);
    if (oracle::environment_id(parsed) == hex_of(key)) return parsed;
  } catch (const oracle::OracleError& error) {
    throw StoreDamaged("environment " + hex_of(key) + ": " + error.what());
  }
  throw StoreDamaged("environment " + hex_of(key) + ": its text has another id");
}

void parse_sample(std::string_view key, std::string_view payload, SampleRecord& record) {
  if (!decode_sample_key(key, record.environment_id, record.signature, record.sample))
    throw StoreDamaged("sample " + hex_of(key) + ": this is no key of a sample");
  if (!decode_sample(payload, record.sample)) throw StoreDamaged(title(record) + ": its bytes are no sample");
}

// --- Impl

void SignatureStore::Impl::require_environment(const std::string& id) {
  if (known_environments_.contains(id)) return;
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (!database.get(Family::kEnv, raw_id(id), value, payload))
    throw StoreError(path() + ": environment " + id + " is not known: put it first");
  known_environments_.insert(id);
}

void SignatureStore::Impl::require_key(const Signature& signature) {
  if (known_keys_.contains(signature)) return;
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (!database.get(Family::kSignature, bytes_of(signature), value, payload))
    throw StoreError(path() + ": operator " + signature.hex() + " is not known: put its key first");
  known_keys_.insert(signature);
}

void SignatureStore::Impl::add_sample(rocksdb::WriteBatch& batch, std::string& key, std::size_t prefix,
                                      const Sample& sample) {
  if (const std::string fault = fault_of(sample); !fault.empty())
    throw StoreError(fmt::format("{}: sample at point {}: {}", path(), point_text(sample.point), fault));
  key.resize(prefix);
  append_point(key, sample.regime, sample.point);
  encode_sample(payload_, sample);
  database.add(batch, Family::kSample, key, payload_);
}

void SignatureStore::Impl::put_document(Family family, const std::string& name, const std::string& json) {
  if (name.empty()) throw StoreError(path() + ": a " + std::string(family_name(family)) + " needs a name");
  std::string canonical_name, canonical;
  try {
    oracle::append_json(canonical_name, std::string_view(name));
    canonical = oracle::canonical_form(json, name);
  } catch (const oracle::OracleError& error) {
    throw StoreError(path() + ": " + error.what());
  }
  rocksdb::WriteBatch batch;
  database.add(batch, family, name, canonical);
  database.write(batch, true);
}

std::vector<std::string> SignatureStore::Impl::names(Family family) const {
  std::vector<std::string> names;
  const auto at = database.scan(family, false);
  for (at->SeekToFirst(); at->Valid(); at->Next()) names.emplace_back(view(at->key()));
  database.check(at->status(), "read");
  return names;
}

std::optional<std::string> SignatureStore::Impl::document(Family family, const std::string& name) const {
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (!database.get(family, name, value, payload)) return std::nullopt;
  return std::string(payload);
}

// --- SignatureStore

SignatureStore::SignatureStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SignatureStore::SignatureStore(SignatureStore&&) noexcept = default;
SignatureStore& SignatureStore::operator=(SignatureStore&&) noexcept = default;
SignatureStore::~SignatureStore() = default;

SignatureStore SignatureStore::open(const std::filesystem::path& directory, Mode mode) {
  return SignatureStore(std::make_unique<Impl>(directory, mode));
}

void SignatureStore::close() { impl_->database.close(); }

void SignatureStore::sync() { impl_->database.sync(); }

std::string SignatureStore::put_environment(const Environment& environment) {
  const std::string text = oracle::canonical_json(environment);
  const std::string id = oracle::environment_id(environment);
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (impl_->database.get(Family::kEnv, raw_id(id), value, payload)) return id;
  rocksdb::WriteBatch batch;
  impl_->database.add(batch, Family::kEnv, raw_id(id), text);
  impl_->database.write(batch, false);  // the next synced put takes it along
  return id;
}

Signature SignatureStore::put_key(const OperatorKey& key) {
  const std::string text = oracle::canonical_json(key);
  const Signature signature = oracle::signature_of(key);
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (impl_->database.get(Family::kSignature, bytes_of(signature), value, payload)) return signature;
  rocksdb::WriteBatch batch;
  impl_->database.add(batch, Family::kSignature, bytes_of(signature), text);
  impl_->database.write(batch, false);
  return signature;
}

void SignatureStore::put(const std::string& environment_id, const Signature& signature, const Sample& sample) {
  impl_->require_environment(environment_id);
  impl_->require_key(signature);
  std::string key = series_prefix(environment_id, signature);
  rocksdb::WriteBatch batch;
  impl_->add_sample(batch, key, key.size(), sample);
  impl_->database.write(batch, true);
}

void SignatureStore::put_all(const std::string& environment_id, const Signature& signature,
                             const std::vector<Sample>& samples) {
  impl_->require_environment(environment_id);
  impl_->require_key(signature);
  std::string key = series_prefix(environment_id, signature);
  const std::size_t prefix = key.size();
  rocksdb::WriteBatch batch(samples.size() * 256);
  for (const Sample& sample : samples) impl_->add_sample(batch, key, prefix, sample);
  impl_->database.write(batch, false);
}

void SignatureStore::put_plan(const std::string& name, const std::string& plan_json) {
  impl_->put_document(Family::kPlan, name, plan_json);
}

void SignatureStore::put_comm(const std::string& name, const std::string& table_json) {
  impl_->put_document(Family::kComm, name, table_json);
}

void SignatureStore::put_record(const Record& record) {
  if (const auto* environment = std::get_if<EnvironmentRecord>(&record)) {
    put_environment(environment->environment);
  } else if (const auto* key = std::get_if<KeyRecord>(&record)) {
    put_key(key->key);
  } else if (const auto* sample = std::get_if<SampleRecord>(&record)) {
    put_all(sample->environment_id, sample->signature, {sample->sample});
  } else if (const auto* plan = std::get_if<PlanRecord>(&record)) {
    put_plan(plan->name, plan->json);
  } else {
    const auto& comm = std::get<CommRecord>(record);
    put_comm(comm.name, comm.json);
  }
}

void SignatureStore::add_to_journal(const std::string& json) {
  const auto at = impl_->database.scan(Family::kJournal, false);
  std::uint64_t next = 0;
  at->SeekToLast();
  impl_->database.check(at->status(), "read");
  if (at->Valid())
    for (const char byte : view(at->key())) next = next << 8 | static_cast<unsigned char>(byte);
  std::string key;
  ++next;
  for (int shift = 56; shift >= 0; shift -= 8) key += static_cast<char>(next >> shift);
  impl_->put_document(Family::kJournal, key, json);
}

std::vector<Sample> SignatureStore::samples(const std::string& environment_id, const Signature& signature) const {
  raw_id(environment_id);  // throws
  const std::string prefix = series_prefix(environment_id, signature);
  const auto at = impl_->database.scan(Family::kSample, false);
  std::vector<Sample> samples;
  SampleRecord record;
  for (at->Seek(prefix); at->Valid() && view(at->key()).starts_with(prefix); at->Next()) {
    parse_sample(view(at->key()), impl_->database.payload(Family::kSample, *at), record);
    samples.push_back(record.sample);
  }
  impl_->database.check(at->status(), "read");
  return samples;
}

std::optional<Sample> SignatureStore::sample(const std::string& environment_id, const Signature& signature,
                                             oracle::ClockRegime regime, const oracle::SamplePoint& point) const {
  if (!is_id(environment_id)) raw_id(environment_id);  // throws
  std::string key = series_prefix(environment_id, signature);
  append_point(key, regime, point);
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (!impl_->database.get(Family::kSample, key, value, payload)) return std::nullopt;
  std::optional<Sample> sample(std::in_place);
  sample->regime = regime;
  sample->point = point;
  if (!decode_sample(payload, *sample)) throw StoreDamaged(impl_->path() + ": sample " + hex_of(key) + " is no sample");
  return sample;
}

std::optional<OperatorKey> SignatureStore::key(const Signature& signature) const {
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (!impl_->database.get(Family::kSignature, bytes_of(signature), value, payload)) return std::nullopt;
  return parsed_key(bytes_of(signature), payload);
}

std::vector<std::pair<std::string, Environment>> SignatureStore::environments() const {
  std::vector<std::pair<std::string, Environment>> found;
  const auto at = impl_->database.scan(Family::kEnv, false);
  for (at->SeekToFirst(); at->Valid(); at->Next())
    found.emplace_back(hex_of(view(at->key())),
                       parsed_environment(view(at->key()), impl_->database.payload(Family::kEnv, *at)));
  impl_->database.check(at->status(), "read");
  return found;
}

std::vector<std::pair<Signature, OperatorKey>> SignatureStore::keys() const {
  std::vector<std::pair<Signature, OperatorKey>> found;
  const auto at = impl_->database.scan(Family::kSignature, false);
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    OperatorKey key = parsed_key(view(at->key()), impl_->database.payload(Family::kSignature, *at));
    Signature signature;
    std::memcpy(signature.bytes.data(), at->key().data(), signature.bytes.size());
    found.emplace_back(signature, std::move(key));
  }
  impl_->database.check(at->status(), "read");
  return found;
}

std::vector<Signature> SignatureStore::signatures(const std::string& environment_id) const {
  const std::string environment = raw_id(environment_id);
  std::vector<Signature> found;
  const auto at = impl_->database.scan(Family::kSample, false);
  at->Seek(environment);
  while (at->Valid() && view(at->key()).starts_with(environment) && at->key().size() == kSampleKeySize) {
    Signature signature;
    std::memcpy(signature.bytes.data(), at->key().data() + 32, signature.bytes.size());
    found.push_back(signature);
    at->Seek(series_prefix(environment_id, signature) + '\xff');  // regimes are small: behind the whole series
  }
  impl_->database.check(at->status(), "read");
  return found;
}

std::vector<std::string> SignatureStore::plans() const { return impl_->names(Family::kPlan); }
std::optional<std::string> SignatureStore::plan(const std::string& name) const {
  return impl_->document(Family::kPlan, name);
}
std::vector<std::string> SignatureStore::comms() const { return impl_->names(Family::kComm); }
std::optional<std::string> SignatureStore::comm(const std::string& name) const {
  return impl_->document(Family::kComm, name);
}

std::vector<std::string> SignatureStore::journal() const {
  std::vector<std::string> lines;
  const auto at = impl_->database.scan(Family::kJournal, false);
  for (at->SeekToFirst(); at->Valid(); at->Next()) lines.emplace_back(impl_->database.payload(Family::kJournal, *at));
  impl_->database.check(at->status(), "read");
  return lines;
}

}  // namespace dooly::store
