#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "oracle/operator_keys.hpp"

#include <fmt/format.h>

#include <array>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// The numbers of a file name such as 32-8-128.
std::vector<std::uint64_t> name_numbers(const std::string& stem) {
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; at <= stem.size();) {
    const std::size_t dash = std::min(stem.find('-', at), stem.size());
    if (const auto number = whole_number(std::string_view(stem).substr(at, dash - at))) numbers.push_back(*number);
    at = dash + 1;
  }
  return numbers;
}

/// The file's text; one table of the published ones begins with its data, in the usual columns of decode tables.
std::string with_header(const ProfileFile& file, ImportContext& context) {
  std::string text = file_bytes(file.path);
  if (!text.starts_with("bf16,") && !text.starts_with("fp8,")) return text;
  context.note(file.shown + ": no header line; the columns of its neighbours taken");
  return "dtype,kv_dtype,batch_size,kv_len,latency_us,mfu\n" + text;
}

struct Table {
  Table(const ProfileFile& f, ImportContext& c) : file(f), context(c), csv(with_header(f, c), f.path.string()) {}
  const ProfileFile& file;
  ImportContext& context;
  CsvTable csv;
  std::vector<std::uint64_t> shape;  ///< of the file name
  bool decode = false;

  /// Reads the named counts of the next row; false at the end. Rows with a bad cell are dropped.
  template <std::size_t N>
  bool next(const std::array<std::size_t, N>& columns, std::array<std::uint64_t, N>& counts) {
    while (csv.next()) {
      context.collector.line(csv.line());
      bool good = true;
      for (std::size_t i = 0; good && i < N; ++i) {
        const auto value = whole_number(csv.cell(columns[i]));
        good = value.has_value();
        if (good)
          counts[i] = *value;
        else
          context.collector.drop("not a count", csv.cell(columns[i]));
      }
      if (good) return true;
    }
    return false;
  }
  void add(Key key, const oracle::SamplePoint& point, std::size_t column) {
    const auto seconds = scaled_number(csv.cell(column), kMicroseconds);
    if (seconds)
      context.collector.add(key, point, single(*seconds, 0));
    else
      context.collector.drop("not a number", csv.cell(column));
  }
  std::string dtype(const char* column, std::string_view otherwise) const {
    const auto found = csv.find(column);
    return dtype_word(found ? csv.cell(*found) : otherwise);
  }
};

/// The gemm table has no type; its mfu says which peak it was measured against: 8 bits where it is the fp8 one.
void read_gemm(Table& table, const std::string& gpu) {
  const std::array columns{table.csv.column("m"), table.csv.column("k"), table.csv.column("n")};
  const auto time = table.csv.column("latency_us"), mfu = table.csv.column("mfu");
  const oracle::Gpu* known = known_gpu(gpu);
  if (known == nullptr)
    throw ImportError(
        fmt::format("{}: type of the products: needs the peaks of GPU '{}'", table.file.path.string(), gpu));
  table.context.note(
      "infersim gemm: rows whose mfu fits the fp8 peak are block-quantised fp8 (DeepGEMM), others bfloat16");
  KeyCache cache;
  std::array<std::uint64_t, 3> mkn{};
  while (table.next(columns, mkn)) {
    const double seconds = scaled_number(table.csv.cell(time), kMicroseconds).value_or(0);
    const double share = scaled_number(table.csv.cell(mfu)).value_or(0);
    const double flops = 2.0 * static_cast<double>(mkn[0]) * static_cast<double>(mkn[1]) * static_cast<double>(mkn[2]);
    const double peak = seconds > 0 && share > 0 ? flops / seconds / share : 0;
    const bool fp8 = known->flops_8 > 0 && peak > 0.75 * known->flops_8;
    const Key key = cache.get(fmt::format("{}/{}/{}", fp8, mkn[1], mkn[2]), [&] {
      return table.context.collector.key(
          oracle::linear_key({"bfloat16", fp8 ? "fp8_block" : "bfloat16", "bfloat16"}, mkn[1], mkn[2]));
    });
    table.add(key, rows_point(mkn[0]), time);
  }
}

void read_mha(Table& table, const std::string& gpu) {
  const auto time = table.csv.column("latency_us");
  const std::array columns{table.csv.column(table.decode ? "batch_size" : "seq_len"),
                           table.csv.column(table.decode ? "kv_len" : "seq_len")};
  if (table.shape.size() < 3) throw ImportError(table.file.path.string() + ": must be named HEADS-KVHEADS-HEADDIM.csv");
  const oracle::AttentionWork work{.heads = table.shape[0], .kv_heads = table.shape[1], .head_dim = table.shape[2]};
  std::array<std::uint64_t, 2> n{};
  while (table.next(columns, n)) {
    const std::string q = table.dtype("dtype", "bf16"), kv = table.dtype(table.decode ? "kv_dtype" : "dtype", "bf16");
    const Key key =
        table.context.collector.key(oracle::attention_key(q, kv, work, attention_family(gpu, table.context.options)));
    table.add(key, table.decode ? decode_point(n[0], n[1] > 0 ? n[1] - 1 : 0) : prefill_point(1, n[0], 0), time);
  }
}

/// decode: HEADS-LORA-ROPE; prefill: HEADS-NOPE-ROPE on expanded heads.
void read_mla(Table& table, const std::string&) {
  const auto time = table.csv.column("latency_us");
  const std::array columns{table.csv.column(table.decode ? "batch_size" : "seq_len"),
                           table.csv.column(table.decode ? "kv_len" : "seq_len")};
  if (table.shape.size() < 3) throw ImportError(table.file.path.string() + ": must be named HEADS-RANK-ROPEDIM.csv");
  const oracle::MlaWork work{.heads = table.shape[0],
                             .kv_lora_rank = table.decode ? table.shape[1] : 512,
                             .qk_nope_dim = 128,
                             .qk_rope_dim = table.shape[2],
                             .v_dim = 128};
  const std::string family = table.context.options.backend.empty() ? "flashmla" : table.context.options.backend;
  std::array<std::uint64_t, 2> n{};
  while (table.next(columns, n)) {
    const std::string q = table.dtype("dtype", "bf16"), kv = table.dtype(table.decode ? "kv_dtype" : "dtype", "bf16");
    const Key key = table.context.collector.key(oracle::mla_attention_key(q, kv, work, family));
    table.add(key, table.decode ? decode_point(n[0], n[1] > 0 ? n[1] - 1 : 0) : prefill_point(1, n[0], 0), time);
  }
}

/// Both products of the experts, without the activation between them: parts, under a kind of their own.
void read_grouped_gemm(Table& table, const std::string&) {
  const std::array columns{table.csv.column("num_experts"),
                           table.csv.column("num_local_experts"),
                           table.csv.column("topk"),
                           table.csv.column("hidden_size"),
                           table.csv.column("intermediate_size"),
                           table.csv.column(table.decode ? "batch_size_per_gpu" : "seq_len_per_gpu"),
                           table.csv.column("num_gpus")};
  const std::array times{std::pair{"up", table.csv.column("up_proj_us")},
                         std::pair{"down", table.csv.column("down_proj_us")}};
  std::array<std::uint64_t, 7> n{};
  while (table.next(columns, n)) {
    for (const auto& [part, column] : times) {
      const bool up = std::string_view(part) == "up";
      oracle::OperatorKey key = own_key("grouped_gemm", {"fp8_block", "fp8_block", "bfloat16"},
                                        {up ? n[3] : n[4], up ? 2 * n[4] : n[3], n[1], n[2]}, "m", {}, "deepgemm");
      if (n[0] != n[1]) key.attributes["experts"] = static_cast<std::int64_t>(n[0]);
      if (table.decode) key.attributes["masked"] = true;
      table.add(table.context.collector.key(key), rows_point(n[5] * n[6]), column);
    }
  }
}

/// Gated delta nets and sparse attention: every time column is a part of its own.
void read_parts(Table& table, const std::string&, const char* kind) {
  const std::vector<std::string>& header = table.csv.header();
  std::array<std::size_t, 2> columns{0, 0};
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == "seq_len" || header[i] == "batchsize" || header[i] == "batch_size" || header[i] == "s_q")
      columns[0] = i;
    if (header[i] == "s_kv" || header[i] == "kv_len") columns[1] = i;
  }
  const bool has_context = header[columns[1]] == "s_kv" || header[columns[1]] == "kv_len";
  if (!has_context) columns[1] = columns[0];
  std::array<std::uint64_t, 2> n{};
  while (table.next(columns, n)) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::string& name = header[i];
      if (i == columns[0] || i == columns[1] || name == "mfu" || name == "dtype" || name == "kv_dtype" ||
          name == "next_n")
        continue;
      const std::string part = name == "latency_us" ? table.file.stem.substr(0, table.file.stem.find('-')) : name;
      oracle::OperatorKey key = own_key(kind, {table.dtype("dtype", "bf16"), table.dtype("kv_dtype", "bf16")},
                                        table.shape, "batch", {{"part", part}}, "infersim");
      if (const auto next = table.csv.find("next_n"))
        key.attributes["next_n"] = static_cast<std::int64_t>(whole_number(table.csv.cell(*next)).value_or(1));
      const std::uint64_t before = has_context ? (table.decode || n[1] < n[0] ? n[1] : n[1] - n[0]) : 0;
      table.add(table.context.collector.key(key),
                table.decode ? decode_point(n[0], before) : prefill_point(1, n[0], before), i);
    }
  }
}

using Reader = void (*)(Table&, const std::string&);
constexpr std::array<std::pair<std::string_view, Reader>, 6> kReaders{{
    {"gemm", read_gemm},
    {"mha", read_mha},
    {"mla", read_mla},
    {"grouped_gemm", read_grouped_gemm},
    {"gdn", [](Table& table, const std::string& gpu) { read_parts(table, gpu, "gdn"); }},
    {"dsa", [](Table& table, const std::string& gpu) { read_parts(table, gpu, "dsa"); }},
}};

}  // namespace

/// KIND[/decode|prefill]/GPU/SHAPE.csv
bool read_infersim(const ProfileFile& file, ImportContext& context) {
  for (std::size_t up = 1; up <= 2; ++up) {
    for (const auto& [kind, reader] : kReaders) {
      if (file.folder(up) != kind) continue;
      Table table(file, context);
      context.collector.begin_file(file.shown);
      table.shape = name_numbers(file.stem);
      table.decode = up == 2 && file.folder(1) == "decode";
      oracle::Environment environment = environment_of(file.folder(0), context.options, "infersim", file.path.string());
      context.collector.environment(environment);
      reader(table, environment.gpu);
      return true;
    }
  }
  context.skip(file.shown, "lies in no folder gemm, mha, mla, grouped_gemm, gdn or dsa");
  return false;
}

}  // namespace dooly::import_
