#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "oracle/model_table.hpp"
#include "oracle/operator_keys.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <utility>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// What every table has: who measured where, and how long it took.
class PerfTable {
 public:
  PerfTable(const ProfileFile& file, ImportContext& context)
      : file_(file),
        context_(context),
        table_(file.path),
        framework_(table_.column("framework")),
        version_(table_.column("version")),
        device_(table_.column("device")),
        kernel_(table_.column("kernel_source")),
        latency_(table_.column("latency")) {
    context.collector.begin_file(file.shown);
  }

  std::size_t column(std::string_view name) const { return table_.column(name); }
  std::optional<std::size_t> find(std::string_view name) const { return table_.find(name); }
  std::string_view cell(std::size_t column) const { return table_.cell(column); }
  std::string_view kernel() const { return table_.cell(kernel_); }

  /// Next row whose time is a number; its environment is set.
  bool next() {
    while (table_.next()) {
      context_.collector.line(table_.line());
      set_environment();
      const auto latency = scaled_number(table_.cell(latency_), kMilliseconds);
      if (latency) {
        seconds_ = *latency;
        return true;
      }
      context_.collector.drop("not a number", table_.cell(latency_));
    }
    return false;
  }

  /// The counts in these columns; false, and the row is dropped, if one is none.
  template <std::size_t N>
  bool counts(const std::array<std::size_t, N>& columns, std::array<std::uint64_t, N>& out) {
    for (std::size_t i = 0; i < N; ++i) {
      const auto value = whole_number(table_.cell(columns[i]));
      if (!value) {
        context_.collector.drop("not a count",
                                fmt::format("{}={}", table_.header()[columns[i]], table_.cell(columns[i])));
        return false;
      }
      out[i] = *value;
    }
    return true;
  }

  void add(Key key, const oracle::SamplePoint& point) {
    context_.collector.add(key, point, single(seconds_), kernel());
  }
  void drop(const std::string& reason, std::string_view value) { context_.collector.drop(reason, value); }
  const std::string& gpu() const { return gpu_; }
  void collectives() { collectives_ = true; }
  ImportContext& context() { return context_; }

 private:
  void set_environment() {
    const std::array columns{framework_, version_, device_};
    bool same = true;
    for (std::size_t i = 0; i < columns.size(); ++i) same = same && seen_[i] == table_.cell(columns[i]);
    if (same) return;
    for (std::size_t i = 0; i < columns.size(); ++i) seen_[i] = table_.cell(columns[i]);
    oracle::Environment environment =
        environment_of(table_.cell(device_), context_.options, "aiconfigurator", file_.path.string());
    std::string library(file_.stem == "nccl_perf" ? "nccl" : table_.cell(framework_));
    for (char& c : library) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    environment.libraries.try_emplace(library, table_.cell(version_));
    gpu_ = environment.gpu;
    if (collectives_) environment = with_topology(environment, node_link(gpu_), context_.options);
    context_.collector.environment(environment);
  }

  const ProfileFile& file_;
  ImportContext& context_;
  CsvTable table_;
  std::size_t framework_, version_, device_, kernel_, latency_;
  std::array<std::string, 3> seen_{"\x01"};
  std::string gpu_;
  double seconds_ = 0;
  bool collectives_ = false;
};

std::string joined(std::initializer_list<std::string_view> cells) {
  std::string text;
  for (const std::string_view cell : cells) text.append(cell).push_back('\x1f');
  return text;
}

/// Weight types of gemm and moe tables; the input of a quantised layer is what the model computes in.
std::pair<std::string, std::string> input_and_weight(std::string_view word) {
  if (word == "fp8" || word == "fp8_block") return {"bfloat16", std::string(word)};
  if (word == "w4a16_mxfp4") return {"bfloat16", "mxfp4"};
  if (word == "int4_wo") return {"bfloat16", "int4"};
  if (word == "int8_wo") return {"bfloat16", "int8"};
  const std::string plain = dtype_word(word);
  return {plain, plain};
}

void read_gemm(PerfTable& table) {
  const auto type = table.column("gemm_dtype");
  const std::array columns{table.column("m"), table.column("n"), table.column("k")};
  KeyCache cache;
  std::array<std::uint64_t, 3> mnk{};
  while (table.next()) {
    if (!table.counts(columns, mnk)) continue;
    const Key key = cache.get(joined({table.cell(type), table.cell(columns[1]), table.cell(columns[2])}), [&] {
      const auto [input, weight] = input_and_weight(table.cell(type));
      return table.context().collector.key(oracle::linear_key({input, weight, input}, mnk[2], mnk[1]));
    });
    table.add(key, rows_point(mnk[0]));
  }
}

void read_attention(PerfTable& table, bool generation) {
  const std::array columns{
      table.column("batch_size"),          table.column("isl"),     table.column("step"), table.column("num_heads"),
      table.column("num_key_value_heads"), table.column("head_dim")};
  const auto q = table.column("attn_dtype"), kv = table.column("kv_cache_dtype"), beam = table.column("beam_width");
  const auto window_column = table.find("window_size");
  KeyCache cache;
  std::array<std::uint64_t, 6> n{};
  while (table.next()) {
    if (!table.counts(columns, n)) continue;
    if (table.cell(beam) != "1") {
      table.drop("beam search", table.cell(beam));
      continue;
    }
    const std::string_view window = window_column ? table.cell(*window_column) : std::string_view("0");
    const std::uint64_t kv_heads = n[4] == 0 ? n[3] : n[4];  // 0: as many as heads
    const Key key = cache.get(joined({table.cell(q), table.cell(kv), table.cell(columns[3]), table.cell(columns[4]),
                                      table.cell(columns[5]), window, table.kernel()}),
                              [&] {
                                oracle::AttentionWork work{.heads = n[3], .kv_heads = kv_heads, .head_dim = n[5]};
                                work.window = static_cast<std::uint32_t>(whole_number(window).value_or(0));
                                const std::string family = table.context().options.backend.empty()
                                                               ? family_word(table.kernel(), table.gpu())
                                                               : table.context().options.backend;
                                return table.context().collector.key(oracle::attention_key(
                                    dtype_word(table.cell(q)), dtype_word(table.cell(kv)), work, family));
                              });
    table.add(key, generation ? decode_point(n[0], n[1] + n[2] - 1) : prefill_point(n[0], n[1], n[2]));
  }
}

std::uint64_t routing_code(std::string_view word) {
  if (word == "balanced") return 0;
  if (word == "power_law_1.01") return 1;
  if (word == "power_law_1.2") return 2;
  return 99;
}

void read_moe(PerfTable& table) {
  const std::array columns{table.column("num_tokens"), table.column("hidden_size"), table.column("inter_size"),
                           table.column("topk"),       table.column("num_experts"), table.column("moe_tp_size"),
                           table.column("moe_ep_size")};
  const auto type = table.column("moe_dtype"), routing = table.column("distribution");
  KeyCache cache;
  std::array<std::uint64_t, 7> n{};
  while (table.next()) {
    if (!table.counts(columns, n)) continue;
    const std::uint64_t code = routing_code(table.cell(routing));
    if (code == 99) {
      table.drop("unknown routing", table.cell(routing));
      continue;
    }
    if (n[5] == 0 || n[6] == 0 || n[2] % n[5] != 0 || n[4] % n[6] != 0) {
      table.drop("experts that cannot be split so",
                 fmt::format("{} experts of {} over EP {} TP {}", n[4], n[2], n[6], n[5]));
      continue;
    }
    std::string text = joined({table.cell(type), table.kernel()});
    for (std::size_t i = 1; i < columns.size(); ++i) text.append(table.cell(columns[i])).push_back('\x1f');
    const Key key = cache.get(text, [&] {
      const auto [input, weight] = input_and_weight(table.cell(type));
      oracle::ExpertWork work{.hidden = n[1],
                              .intermediate = n[2] / n[5],
                              .local_experts = n[4] / n[6],
                              .top_k = n[3],
                              .experts = n[6] > 1 ? n[4] : 0};
      if (table.kernel().find("gptoss") != std::string_view::npos) work.activation = "swigluoai", work.bias = true;
      return table.context().collector.key(oracle::moe_experts_key(input, weight, work));
    });
    table.add(key, {n[0], 0, code});
  }
}

/// Attention of DeepSeek-V3: the tables hold no other latent attention, and say no more than its heads.
oracle::MlaWork deepseek_work(std::uint64_t heads) {
  static const oracle::ModelConfig model = oracle::find_model("deepseek-ai/DeepSeek-V3");
  oracle::MlaWork work{.heads = heads,
                       .q_lora_rank = model.mla->q_lora_rank,
                       .kv_lora_rank = model.mla->kv_lora_rank,
                       .qk_nope_dim = model.mla->qk_nope_dim,
                       .qk_rope_dim = model.mla->qk_rope_dim,
                       .v_dim = model.mla->v_dim};
  work.scale = model.attention_scale;
  return work;
}

void read_mla(PerfTable& table, bool generation, bool module) {
  const std::array columns{table.column("batch_size"), table.column("isl"), table.column("step"),
                           table.column("num_heads")};
  const auto type = table.column("mla_dtype"), kv = table.column("kv_cache_dtype");
  const auto gemm = table.find("gemm_type"), model = table.find("model");
  KeyCache cache;
  std::array<std::uint64_t, 4> n{};
  if (!module) table.context().note("latent attention tables give heads alone: dims of DeepSeek-V3 taken");
  while (table.next()) {
    if (!table.counts(columns, n)) continue;
    if (model && table.cell(*model).find("DeepSeek") == std::string_view::npos) {
      table.drop("latent attention of an unknown model", table.cell(*model));
      continue;
    }
    const std::string text = joined(
        {table.cell(type), table.cell(kv), table.cell(columns[3]), gemm ? table.cell(*gemm) : std::string_view()});
    const Key key = cache.get(text, [&] {
      const std::string cache_type = dtype_word(table.cell(kv));
      std::string family =
          module ? (cache_type == "fp8" ? "flashmla" : "fa3-mla") : family_word(table.kernel(), table.gpu());
      if (!table.context().options.backend.empty()) family = table.context().options.backend;
      const std::string x = dtype_word(table.cell(type));
      SampleCollector& collector = table.context().collector;
      if (!module) return collector.key(oracle::mla_attention_key(x, cache_type, deepseek_work(n[3]), family));
      const std::string weight(gemm ? table.cell(*gemm) : table.cell(type));
      return collector.key(
          oracle::mla_module_key(x, dtype_word(weight), cache_type, 7168, deepseek_work(n[3]), family));
    });
    table.add(key, generation ? decode_point(n[0], n[1] + n[2] - 1) : prefill_point(n[0], n[1], n[2]));
  }
}

void read_mla_bmm(PerfTable& table) {
  const std::array columns{table.column("num_tokens"), table.column("num_heads")};
  const auto type = table.column("bmm_dtype"), op = table.column("op_name");
  KeyCache cache;
  std::array<std::uint64_t, 2> n{};
  while (table.next()) {
    if (!table.counts(columns, n)) continue;
    const bool pre = table.cell(op) == "mla_gen_pre";
    if (!pre && table.cell(op) != "mla_gen_post") {
      table.drop("unknown op_name", table.cell(op));
      continue;
    }
    const Key key = cache.get(joined({table.cell(op), table.cell(type), table.cell(columns[1])}), [&] {
      const auto [input, weight] = input_and_weight(table.cell(type));
      return table.context().collector.key(
          oracle::bmm_key({input, weight, input}, n[1], pre ? 128 : 512, pre ? 512 : 128));
    });
    table.add(key, rows_point(n[0]));
  }
}

void add_collective(PerfTable& table, std::string_view kind, std::string_view dtype, std::uint64_t ranks,
                    std::uint64_t bytes, std::string_view family, bool eager) {
  for (const Key key : collective_keys(table.context().collector, kind, dtype, ranks, family, eager).keys)
    table.add(key, bytes_point(bytes, ranks));
}

void read_custom_all_reduce(PerfTable& table) {
  const std::array columns{table.column("num_gpus"), table.column("message_size")};
  const auto type = table.column("allreduce_dtype");
  const auto backend = table.find("backend");
  table.collectives();
  std::array<std::uint64_t, 2> n{};
  while (table.next()) {
    if (!table.counts(columns, n)) continue;
    const bool eager = (backend ? table.cell(*backend) : table.kernel()).ends_with("eager");
    add_collective(table, "all_reduce", table.cell(type), n[0], n[1] * 2, "vllm-custom", eager);
  }
}

void read_nccl(PerfTable& table) {
  const std::array columns{table.column("num_gpus"), table.column("message_size")};
  const auto type = table.column("nccl_dtype"), op = table.column("op_name");
  table.collectives();
  std::array<std::uint64_t, 2> n{};
  while (table.next()) {
    if (!table.counts(columns, n)) continue;
    const std::string kind(table.cell(op) == "alltoall" ? "all_to_all" : table.cell(op));
    const std::string dtype = dtype_word(table.cell(type));
    const std::uint64_t whole = n[1] * (dtype == "int8" ? 1 : dtype == "float32" ? 4 : 2);
    if (n[0] == 0) {
      table.drop("not a count", "num_gpus=0");
      continue;
    }
    // As nccl-tests count: the size of all_gather is the result's.
    add_collective(table, kind, dtype, n[0], kind == "all_gather" ? whole / n[0] : whole, "nccl", false);
  }
}

using Reader = void (*)(PerfTable&);
constexpr std::array<std::pair<std::string_view, Reader>, 11> kReaders{{
    {"gemm_perf", read_gemm},
    {"context_attention_perf", [](PerfTable& table) { read_attention(table, false); }},
    {"generation_attention_perf", [](PerfTable& table) { read_attention(table, true); }},
    {"moe_perf", read_moe},
    {"context_mla_perf", [](PerfTable& table) { read_mla(table, false, false); }},
    {"generation_mla_perf", [](PerfTable& table) { read_mla(table, true, false); }},
    {"mla_context_module_perf", [](PerfTable& table) { read_mla(table, false, true); }},
    {"mla_generation_module_perf", [](PerfTable& table) { read_mla(table, true, true); }},
    {"mla_bmm_perf", read_mla_bmm},
    {"custom_allreduce_perf", read_custom_all_reduce},
    {"nccl_perf", read_nccl},
}};

}  // namespace

bool read_aiconfigurator(const ProfileFile& file, ImportContext& context) {
  for (const auto& [stem, reader] : kReaders) {
    if (file.stem != stem) continue;
    PerfTable table(file, context);
    reader(table);
    return true;
  }
  context.skip(file.shown, "not one of the tables that are known");
  return false;
}

}  // namespace dooly::import_
