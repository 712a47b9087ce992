#include "csv_table.hpp"
#include "environments.hpp"
#include "importer.hpp"
#include "numbers.hpp"
#include "vidur_tables.hpp"

#include <fmt/format.h>

#include <array>

namespace dooly::import_ {
namespace {

using Key = SampleCollector::Key;

/// a100 of a100_dgx, a40 of a40_cpu_overheads: the word before the first underscore, if it is a device.
std::string gpu_prefix(const std::string& text) {
  const std::string word = text.substr(0, text.find('_'));
  return known_gpu(gpu_name(word)) != nullptr ? word : std::string();
}

/// Device of compute/GPU/ORG/MODEL (or ORG--MODEL), of DEVICE/ORG--MODEL/tpN, of *_GPU/ORG--MODEL.
std::string device_of(const ProfileFile& file) {
  if (const std::string device = file.below("compute"); !device.empty()) return device;
  for (std::size_t up = 0; up < 4; ++up) {
    const std::string folder = file.folder(up);
    if (known_gpu(gpu_name(folder)) != nullptr) return folder;
    const auto last = folder.rfind('_');
    if (last != std::string::npos && known_gpu(gpu_name(folder.substr(last + 1))) != nullptr)
      return folder.substr(last + 1);
  }
  return gpu_prefix(file.stem);
}

VidurSetting setting_of(const ProfileFile& file, ImportContext& context) {
  VidurSetting setting{.environment = environment_of(device_of(file), context.options, "vidur", file.path.string())};
  setting.dtype = asked_dtype(context.options, "", "float16");
  setting.kv_dtype = context.options.kv_dtype.empty() ? std::string() : dtype_word(context.options.kv_dtype);
  setting.model = model_from_folder(file, 0);
  setting.config = model_if_known(context.options, setting.model);
  if (!setting.config && file.stem == "mlp")
    context.note(setting.model +
                 ": not a known model: RMSNorm, no biases and head_dim = n_embd / n_head taken; --model says more");
  context.collector.model(setting.model);
  return setting;
}

/// network/TOPOLOGY: what links ranks that lie on `per_node` GPUs of each node.
std::string topology_text(const std::string& folder, std::uint64_t ranks, std::uint64_t per_node) {
  const std::string inside =
      folder.find("pairwise") != std::string::npos && per_node > 2 ? "pairwise-nvlink" : "nvlink";
  if (per_node >= ranks) return inside;
  return fmt::format("{}x{} {} + network", ranks / std::max<std::uint64_t>(1, per_node), per_node, inside);
}

void read_network(const ProfileFile& file, ImportContext& context) {
  CsvTable table(file.path);
  const std::string kind = file.stem;
  const auto ranks = table.column("num_workers"), size = table.column("size");
  const auto per_node = table.find("devices_per_node");
  const TimeStats stats(table, kind);
  if (!stats.present()) table.column("time_stats." + kind + ".median");
  std::string topology = file.below("network");
  if (topology.empty()) topology = file.folder(0);
  const oracle::Environment base = environment_of(gpu_prefix(topology), context.options, "vidur", file.path.string());
  SampleCollector& collector = context.collector;
  KeyCache cache;
  while (table.next()) {
    collector.line(table.line());
    const auto workers = whole_number(table.cell(ranks)), bytes = whole_number(table.cell(size));
    const auto devices = per_node ? whole_number(table.cell(*per_node)) : workers;
    if (!workers || !bytes || !devices || *workers < 2) {
      collector.drop("not a count", fmt::format("num_workers={} size={}", table.cell(ranks), table.cell(size)));
      continue;
    }
    const auto timing = stats.read(table, collector, kind);
    if (!timing) continue;
    collector.environment(with_topology(base, topology_text(topology, *workers, *devices), context.options));
    for (const Key key : collective_keys(collector, kind, "float16", *workers, "nccl").keys)
      collector.add(key, bytes_point(*bytes, *workers), *timing);
  }
}

/// Host times of an iteration by batch size; terms by column.
void read_cpu_overheads(const ProfileFile& file, ImportContext& context) {
  constexpr std::array terms{
      "schedule",           "sampler_launch",         "sampler_e2e",         "prepare_inputs_launch",
      "prepare_inputs_e2e", "model_execution_launch", "model_execution_e2e", "process_model_outputs",
      "ray_comm_time"};
  CsvTable table(file.path);
  const auto model = table.column("model_name"), batch = table.column("batch_size"),
             tp = table.column("tensor_parallel_degree");
  std::string device = gpu_prefix(file.stem);
  for (std::size_t up = 0; device.empty() && up < 3; ++up) device = gpu_prefix(file.folder(up));
  context.collector.environment(environment_of(device, context.options, "vidur", file.path.string()));
  context.note("cpu_overheads: no unit in the file, milliseconds taken; model_execution_* are of a truncated model");
  SampleCollector& collector = context.collector;
  KeyCache cache;
  while (table.next()) {
    collector.line(table.line());
    const auto requests = whole_number(table.cell(batch)), ranks = whole_number(table.cell(tp));
    if (!requests || !ranks) {
      collector.drop("not a count", table.cell(batch));
      continue;
    }
    const std::string name(table.cell(model));
    collector.model(name);
    for (const std::string term : terms) {
      const auto mean = table.find(term + "_mean"), median = table.find(term + "_median");
      if (!mean || table.cell(*mean).empty()) continue;
      const auto seconds = scaled_number(table.cell(*mean), kMilliseconds);
      if (!seconds) {
        collector.drop("not a number", table.cell(*mean));
        continue;
      }
      const Timing timing{.median = median ? scaled_number(table.cell(*median), kMilliseconds).value_or(0) : *seconds,
                          .mean = *seconds};
      const Key key = cache.get(fmt::format("{}/{}/{}", term, name, *ranks), [&] {
        return collector.key(own_key("host", {}, {*ranks}, "batch", {{"model", name}, {"term", term}}, "vllm"));
      });
      collector.add(key, decode_point(*requests, 0), timing);
    }
  }
}

}  // namespace

bool read_vidur(const ProfileFile& file, ImportContext& context) {
  const auto begin = [&] { context.collector.begin_file(file.shown); };
  if (file.stem == "mlp" || file.stem == "linear_op") {
    begin();
    read_vidur_mlp(file, context, setting_of(file, context));
  } else if (file.stem.ends_with("attention")) {
    begin();
    read_vidur_attention(file, context, setting_of(file, context));
  } else if (file.stem == "all_reduce" || file.stem == "send_recv") {
    begin();
    read_network(file, context);
  } else if (file.stem.ends_with("cpu_overheads") || file.stem.ends_with("cpu_overhead")) {
    begin();
    read_cpu_overheads(file, context);
  } else {
    context.skip(file.shown, "not one of the tables that are known");
    return false;
  }
  return true;
}

}  // namespace dooly::import_
