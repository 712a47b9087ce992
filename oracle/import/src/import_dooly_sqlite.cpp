#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "oracle/operator_keys.hpp"

#include <fmt/format.h>
#include <sqlite3.h>
#include <nlohmann/json.hpp>

#include <array>
#include <map>
#include <memory>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;
using nlohmann::json;

class Database {
 public:
  explicit Database(const std::filesystem::path& path) : path_(path.string()) {
    sqlite3* opened = nullptr;
    const int status = sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READONLY, nullptr);
    handle_.reset(opened);
    if (status != SQLITE_OK) fail(opened != nullptr ? sqlite3_errmsg(opened) : "cannot be opened");
  }
  [[noreturn]] void fail(const std::string& what) const { throw ImportError(path_ + ": " + what); }
  sqlite3* handle() const { return handle_.get(); }
  bool has_column(const std::string& table, const std::string& column) const;

 private:
  std::string path_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_{nullptr, sqlite3_close};
};

/// Rows of one query.
class Query {
 public:
  Query(const Database& database, const std::string& text) : database_(database) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database.handle(), text.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      database.fail(sqlite3_errmsg(database.handle()));
    statement_.reset(statement);
  }
  bool next() {
    const int status = sqlite3_step(statement_.get());
    if (status != SQLITE_ROW && status != SQLITE_DONE) database_.fail(sqlite3_errmsg(database_.handle()));
    return status == SQLITE_ROW;
  }
  std::string text(int column) const {
    const auto* bytes = sqlite3_column_text(statement_.get(), column);
    return bytes == nullptr ? std::string() : reinterpret_cast<const char*>(bytes);
  }
  bool null(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  std::uint64_t count(int column) const {
    const auto value = sqlite3_column_int64(statement_.get(), column);
    return value > 0 ? static_cast<std::uint64_t>(value) : 0;
  }

 private:
  const Database& database_;
  std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement_{nullptr, sqlite3_finalize};
};

bool Database::has_column(const std::string& table, const std::string& column) const {
  Query query(*this, "PRAGMA table_info(" + table + ")");
  while (query.next())
    if (query.text(1) == column) return true;
  return false;
}

/// Whole numbers of a signature's parameters (`[["input0_dim1", 4096], ...]`), by name; children are passed over.
void collect_dims(const json& value, std::map<std::string, std::uint64_t>& dims) {
  if (!value.is_array()) return;
  if (value.size() == 2 && value[0].is_string() && value[1].is_number()) {
    if (value[1].get<double>() > 0 &&
        value[1].get<double>() == static_cast<double>(static_cast<std::uint64_t>(value[1].get<double>())))
      dims.try_emplace(value[0].get<std::string>(), static_cast<std::uint64_t>(value[1].get<double>()));
    return;
  }
  for (const json& item : value) collect_dims(item, dims);
}

bool is_linear(const std::string& name) {
  for (const std::string_view word : {"aten::linear", "aten::mm", "aten::addmm", "vllm::default_unquantized_gemm"})
    if (name.find(word) != std::string::npos) return true;
  return false;
}

/// The reference keeps names of its own: a matrix product is a `linear` here; everything else keeps the operation's
/// name as its kind, so that it serves only what asks for that name.
oracle::OperatorKey operator_of(const std::string& name, const std::string& signature, const std::string& hash,
                                const std::string& dtype) {
  std::map<std::string, std::uint64_t> dims;
  const json parsed = json::parse(signature, nullptr, false);
  if (!parsed.is_discarded() && parsed.is_array() && parsed.size() > 1) collect_dims(parsed[1], dims);
  if (!parsed.is_discarded() && parsed.is_object()) {
    for (const auto& [member, value] : parsed.items())
      if (value.is_array())
        collect_dims(value, dims);
      else if (value.is_number_unsigned())
        dims.try_emplace(member, value.get<std::uint64_t>());
  }
  const auto input = dims.find("input0_dim1"), rows = dims.find("input1_dim0"), columns = dims.find("input1_dim1");
  if (is_linear(name) && input != dims.end() && rows != dims.end() && columns != dims.end()) {
    const std::uint64_t k = input->second;
    const bool transposed = name.find("linear") != std::string::npos || name.find("gemm") != std::string::npos;
    const std::uint64_t n = transposed ? rows->second : columns->second;
    if ((transposed ? columns->second : rows->second) == k) return oracle::linear_key({dtype, dtype, dtype}, k, n);
  }
  oracle::OperatorKey key = own_key("dooly:" + name, {dtype}, {}, "batch", {}, "unknown");
  for (const auto& [member, value] : dims) key.dims.push_back(value);
  key.attributes["signature"] = hash.substr(0, 16);
  return key;
}

struct Reader {
  const ProfileFile& file;
  ImportContext& context;
  Database database;
  std::map<std::string, std::vector<std::string>> models;  ///< by signature

  void read_models() {
    Query query(database,
                "SELECT s.signature_hash, m.model_name FROM model_operations o JOIN signatures s ON s.operation_id = "
                "o.operation_id JOIN profiled_models m ON m.model_id = o.model_id ORDER BY 1, 2");
    while (query.next()) models[query.text(0)].push_back(query.text(1));
  }

  Key key_of(const std::string& hash, const oracle::OperatorKey& key) {
    Key id = context.collector.key(key);
    for (const std::string& model : models[hash]) {
      context.collector.model(model);
      id = context.collector.key(key);
    }
    context.collector.model("");
    return id;
  }

  void read_results() {
    const bool experts = database.has_column("results", "activated_experts");
    Query query(
        database,
        "SELECT r.id, r.signature_hash, s.operation_name, s.signature_json, mean_latency_ms, median_latency_ms, "
        "min_latency_ms, "
        "std_latency_ms, num_tokens, num_requests, is_prefill, kv_cache_size, prefill_chunk_size, " +
            std::string(experts ? "activated_experts" : "NULL") +
            " FROM results r JOIN signatures s ON s.signature_hash = r.signature_hash ORDER BY r.signature_hash, r.id");
    const std::string dtype = asked_dtype(context.options, "", "bfloat16");
    std::string seen;
    Key key{};
    bool is_linear_key = false;
    while (query.next()) {
      context.collector.line(query.count(0));
      const std::string hash = query.text(1);
      if (hash != seen) {
        const oracle::OperatorKey made = operator_of(query.text(2), query.text(3), hash, dtype);
        is_linear_key = made.kind == "linear";
        key = key_of(hash, made);
        seen = hash;
      }
      const Timing timing{.median = query.real(5) / 1e3,
                          .mean = query.real(4) / 1e3,
                          .min = query.real(6) / 1e3,
                          .std = query.real(7) / 1e3};
      const bool attention = !is_linear_key && (query.count(11) > 0 || query.count(12) > 0);
      if (query.null(4) && query.null(5))
        context.collector.drop("not a number", "no latency");
      else if (attention && query.count(10) > 0)
        context.collector.add(key, prefill_point(1, query.count(12), query.count(11)), timing);
      else if (attention)
        context.collector.add(key, decode_point(query.count(9), query.count(11)), timing);
      else
        context.collector.add(key, {query.count(8), query.count(13)}, timing);
    }
  }

  void read_collectives(const oracle::Environment& environment) {
    Query query(database,
                "SELECT id, operation, topology, tp_size, size_bytes, dtype, latency_ms FROM coll_op_results ORDER BY "
                "2, 4, 5, 1");
    context.note(
        "coll_op_results.size_bytes: bytes taken, as its name says; one measuring mode of the reference wrote "
        "elements");
    while (query.next()) {
      context.collector.line(query.count(0));
      const std::string operation = query.text(1);
      std::string kind;
      for (const std::string_view known : {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"})
        if (operation.find(known) != std::string::npos) kind = known;
      if (kind.empty() || query.count(3) < 2) {
        context.collector.drop("not a collective of several ranks", operation);
        continue;
      }
      context.collector.environment(with_topology(
          environment, query.text(2).empty() ? node_link(environment.gpu) : query.text(2), context.options));
      for (const Key key : collective_keys(context.collector, kind, query.text(5), query.count(3), "nccl").keys)
        context.collector.add(key, bytes_point(query.count(4), query.count(3)), single(query.real(6) / 1e3, 0));
    }
  }
};

}  // namespace

bool read_dooly_sqlite(const ProfileFile& file, ImportContext& context) {
  Reader reader{file, context, Database(file.path), {}};
  if (!reader.database.has_column("signatures", "signature_hash")) {
    context.skip(file.shown, "holds no table 'signatures'");
    return false;
  }
  context.collector.begin_file(file.shown);
  const oracle::Environment environment = environment_of("", context.options, "dooly-sqlite", file.path.string());
  context.collector.environment(environment);
  reader.read_models();
  reader.read_results();
  if (reader.database.has_column("coll_op_results", "latency_ms")) reader.read_collectives(environment);
  return true;
}

}  // namespace dooly::import_
