#include "file_seal.hpp"
#include "oracle/canonical_json.hpp"
#include "oracle/oracle_error.hpp"
#include "oracle/step_plan.hpp"
#include "oracle_store/kernel_remarks.hpp"
#include "oracle_store/signature_store.hpp"
#include "record_codec.hpp"
#include "store_fits.hpp"
#include "store_impl.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace dooly::store {
namespace {

/// Reads a whole database, record by record, and notes what is wrong.
class Verification {
 public:
  Verification(const Database& database, std::vector<Damage>* remarks) : database_(database), remarks_(remarks) {}

  std::vector<Damage> run() {
    for (const Family family : kFamilies) {
      family_ = family;
      read_family();
    }
    end_series();
    family_ = Family::kMeta;
    for (const std::string& key : fits_) check_links(key);
    return std::move(damages_);
  }

 private:
  void note(std::string record, std::string what) {
    damages_.push_back({std::string(family_name(family_)), std::move(record), std::move(what)});
  }

  void read_family() {
    const auto at = database_.scan(family_, true);
    std::string last;  // key of the last record that could be read
    bool any = false;
    at->SeekToFirst();
    for (;;) {
      for (; at->Valid(); at->Next()) {
        last.assign(view(at->key()));
        any = true;
        check(last, view(at->value()));
      }
      if (at->status().ok()) return;
      const std::string why = at->status().ToString();
      if (!step_over(*at, last)) {
        note(gap(any, last, nullptr), why);
        return;
      }
      const std::string next = at->Valid() ? std::string(view(at->key())) : std::string();
      note(gap(any, last, at->Valid() ? &next : nullptr), why);
    }
  }

  /// Moves `at` to the first record behind a damaged block that starts somewhere after `last`: keys further and further
  /// on are tried until one can be read, and from there back. False: nothing behind it can be read.
  bool step_over(rocksdb::Iterator& at, const std::string& last) {
    std::string start = last;
    start.resize(std::max<std::size_t>(start.size(), family_ == Family::kSample ? kSampleKeySize : 32), '\0');
    for (std::size_t position = start.size(); position-- > 0;) {
      for (unsigned step = 1; step < 256; step *= 2) {
        const unsigned byte = static_cast<unsigned char>(start[position]) + step;
        if (byte > 255) break;
        std::string candidate = start.substr(0, position + 1);
        candidate[position] = static_cast<char>(byte);
        at.Seek(slice(candidate));
        if (at.status().ok()) return back_to_first_readable(at, candidate, last);
      }
    }
    return false;
  }

  bool back_to_first_readable(rocksdb::Iterator& at, const std::string& candidate, const std::string& last) {
    std::string first = candidate;
    if (!at.Valid()) at.SeekToLast();
    while (at.Valid() && view(at.key()) > last) {
      first.assign(view(at.key()));
      at.Prev();
    }
    at.Seek(slice(first));
    return at.status().ok();
  }

  std::string gap(bool any, const std::string& last, const std::string* next) const {
    if (!any && next == nullptr) return "all records";
    return "records after " + (any ? readable(last) : "the start") + " and before " +
           (next != nullptr ? readable(*next) : "the end");
  }

  const oracle::OperatorKey* key_of(const oracle::Signature& signature) const {
    const auto known = keys_.find(std::string(bytes_of(signature)));
    return known == keys_.end() ? nullptr : &known->second;
  }

  std::string readable(const std::string& key) const {
    switch (family_) {
      case Family::kSample: {
        SampleRecord record;
        if (!decode_sample_key(key, record.environment_id, record.signature, record.sample)) break;
        return title(record, key_of(record.signature));
      }
      case Family::kEnv: return "environment " + hex_of(key);
      case Family::kSignature: return "operator " + hex_of(key);
      case Family::kPlan:
      case Family::kComm:
      case Family::kMeta: return std::string(family_name(family_)) + " " + key;
      case Family::kJournal: break;
    }
    return std::string(family_name(family_)) + " " + hex_of(key);
  }

  void check(const std::string& key, std::string_view value) {
    std::string_view payload;
    if (!open_value(value, family_name(family_), key, payload)) return note(readable(key), "its checksum differs");
    try {
      switch (family_) {
        case Family::kEnv: environments_.emplace(key, parsed_environment(key, payload)); break;
        case Family::kSignature: keys_.emplace(key, parsed_key(key, payload)); break;
        case Family::kSample: check_sample(key, payload); break;
        case Family::kPlan: check_plan(payload); break;
        case Family::kComm:
        case Family::kJournal: oracle::canonical_form(payload, "document"); break;
        case Family::kMeta: check_meta(key, payload); break;
      }
    } catch (const std::runtime_error& error) {
      note(readable(key), error.what());
    }
  }

  void check_meta(const std::string& key, std::string_view payload) {
    if (!key.starts_with(kFitPrefix)) return;
    parsed_fit(key, payload);
    fits_.push_back(key);
  }

  /// Of a fit, once everything else has been read.
  void check_links(const std::string& key) {
    const auto is_of = [&](const auto& known, std::size_t at) {
      return std::any_of(known.begin(), known.end(), [&](const auto& each) {
        return key.compare(kFitPrefix.size() + at, 64, hex_of(each.first)) == 0;
      });
    };
    if (key.size() != kFitPrefix.size() + 64 + 1 + 64) return note(readable(key), "is no name of a fit");
    if (!is_of(environments_, 0)) note(readable(key), "its environment is not in the store");
    if (!is_of(keys_, 65)) note(readable(key), "its operator is not in the store");
  }

  /// A document that says it is a step plan must be one, its signatures those of its keys.
  static void check_plan(std::string_view payload) {
    const std::string document = oracle::canonical_form(payload, "document");
    if (document.find("\"dooly_plan\":") != std::string::npos) oracle::parse_plan(document);
  }

  void check_sample(const std::string& key, std::string_view payload) {
    parse_sample(key, payload, sample_);
    if (const std::string fault = fault_of(sample_.sample); !fault.empty()) note(readable(key), fault);
    const std::string series = key.substr(0, 64);
    if (series != series_) begin_series(series, key);
    if (!sample_.sample.kernel_family.empty()) ran_.insert(sample_.sample.kernel_family);
  }

  void begin_series(const std::string& series, const std::string& key) {
    end_series();
    series_ = series;
    if (!environments_.contains(series.substr(0, 32))) note(readable(key), "its environment is not in the store");
    if (!keys_.contains(series.substr(32))) note(readable(key), "its operator is not in the store");
  }

  void end_series() {
    if (ran_.empty() || remarks_ == nullptr) return ran_.clear();
    const auto environment = environments_.find(series_.substr(0, 32));
    const auto key = keys_.find(series_.substr(32));
    if (environment != environments_.end() && key != keys_.end())
      for (std::string& remark : kernel_remarks(environment->second, key->second, ran_))
        remarks_->push_back({std::string(family_name(Family::kSample)),
                             series_title(oracle::signature_of(key->second), &key->second, hex_of(environment->first)),
                             std::move(remark)});
    ran_.clear();
  }

  const Database& database_;
  std::vector<Damage>* remarks_;
  Family family_ = Family::kMeta;
  std::vector<Damage> damages_;
  std::map<std::string, oracle::Environment> environments_;  ///< by the bytes of their keys
  std::map<std::string, oracle::OperatorKey> keys_;
  std::vector<std::string> fits_;  ///< their keys
  SampleRecord sample_;
  std::string series_;  ///< environment and signature of the samples being read
  std::set<std::string> ran_;  ///< kernel families of that series
};

}  // namespace

std::vector<Damage> SignatureStore::verify(std::vector<Damage>* remarks) const {
  return Verification(impl_->database, remarks).run();
}

std::vector<Damage> SignatureStore::verify(const std::filesystem::path& directory, std::vector<Damage>* remarks) {
  std::vector<Damage> damages = FileSeal::check(directory);
  try {
    const SignatureStore store = open(directory, Mode::kRead);
    for (Damage& damage : store.verify(remarks)) damages.push_back(std::move(damage));
  } catch (const StoreDamaged& error) {
    damages.push_back({"file", directory.string(), error.what()});
  } catch (const StoreError& error) {
    if (damages.empty()) throw;  // no store: another matter than a damaged one
    damages.push_back({"file", directory.string(), error.what()});
  }
  return damages;
}

}  // namespace dooly::store
