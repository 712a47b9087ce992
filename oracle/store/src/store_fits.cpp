#include "store_fits.hpp"
#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/sha256.hpp"
#include "oracle_store/signature_store.hpp"
#include "record_codec.hpp"
#include "store_impl.hpp"

#include <fmt/format.h>
#include <rocksdb/write_batch.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace dooly::store {

std::string series_digest(const std::vector<oracle::Sample>& samples) {
  oracle::Sha256 hash;
  std::string bytes;
  for (const oracle::Sample& sample : samples) {
    bytes.clear();
    append_point(bytes, sample.regime, sample.point);
    std::string payload;
    encode_sample(payload, sample);
    hash.update(bytes + payload);
  }
  return hash.finish_hex();
}

std::string fit_key(const std::string& environment_id, const oracle::Signature& signature) {
  return fmt::format("{}{}/{}", kFitPrefix, environment_id, signature.hex());
}

StoredFit parsed_fit(std::string_view key, std::string_view payload) {
  const auto damaged = [&](const std::string& what) { return StoreDamaged(std::string(key) + ": " + what); };
  const nlohmann::json json = nlohmann::json::parse(payload, nullptr, false);
  if (!json.is_object() || json.size() != 4) throw damaged("is no fit");
  const auto points = json.find("points"), error = json.find("fold_error"), version = json.find("version"),
             samples = json.find("samples");
  for (const auto& member : {points, error, version, samples})
    if (member == json.end()) throw damaged("is no fit");
  if (!points->is_number_unsigned() || !error->is_number() || !version->is_number_unsigned() || !samples->is_string())
    throw damaged("is no fit");
  StoredFit fit{points->get<std::uint64_t>(), error->get<double>(), version->get<std::uint32_t>(),
                samples->get<std::string>()};
  if (!(fit.fold_error >= 0 && std::isfinite(fit.fold_error)) || !is_id(fit.samples))
    throw damaged("holds no error of a fit");
  return fit;
}

void SignatureStore::put_fit(const std::string& environment_id, const oracle::Signature& signature,
                             const StoredFit& fit) {
  impl_->require_environment(environment_id);
  impl_->require_key(signature);
  const std::string key = fit_key(environment_id, signature);
  const std::string text = fmt::format(R"({{"fold_error":{},"points":{},"samples":"{}","version":{}}})", fit.fold_error,
                                       fit.points, fit.samples, fit.version);
  if (parsed_fit(key, text) != fit) throw StoreError(impl_->path() + ": " + key + ": is no fit");
  rocksdb::WriteBatch batch;
  impl_->database.add(batch, Family::kMeta, key, text);
  impl_->database.write(batch, false);
}

std::optional<StoredFit> SignatureStore::fit(const std::string& environment_id,
                                             const oracle::Signature& signature) const {
  const std::string key = fit_key(environment_id, signature);
  rocksdb::PinnableSlice value;
  std::string_view payload;
  if (!impl_->database.get(Family::kMeta, key, value, payload)) return std::nullopt;
  return parsed_fit(key, payload);
}

}  // namespace dooly::store
