#include "oracle_profiled/dealt_kernel.hpp"

#include <algorithm>
#include <variant>

namespace dooly::oracle {
namespace {

double window_of(const OperatorKey& key) {
  const auto found = key.attributes.find("window");
  if (found == key.attributes.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr ? static_cast<double>(std::max<std::int64_t>(0, *value)) : 0;
}

bool is_16_bit(const std::string& type) { return type == "bfloat16" || type == "float16"; }

}  // namespace

DealtKernel::DealtKernel(const OperatorKey& key, const Gpu& gpu)
    : heads_(static_cast<double>(key.dims[0])),
      kv_heads_(static_cast<double>(key.dims[1])),
      group_(std::max(1.0, heads_ / kv_heads_)),
      head_dim_(static_cast<double>(key.dims[2])),
      multiprocessors_(gpu.multiprocessors),
      window_(window_of(key)),
      each_(1 / multiprocessors_) {}

TileDealer::Stairs DealtKernel::stairs_of(const Launch& l, double rows, double keys) const {
  const double tiles = std::max(1.0, whole_blocks(l.query, rows)), kv = l.query + l.context, top = seen(kv, rows);
  TileDealer::Stairs stairs{.count = tiles, .first = 0, .last = whole_blocks(top, keys), .copies = l.chunks};
  stairs.first = tiles > 1 ? whole_blocks(std::min(top, l.context + rows), keys) : stairs.last;
  if (top < kv) stairs.flat = std::min(tiles - 1, (kv - top) / rows);
  return stairs;
}

std::shared_ptr<const DealtKernel> DealtKernel::of(const OperatorKey& key, const Gpu& gpu) {
  if (key.kind != "attention" || key.dims.size() < 3 || key.dims[0] <= 0 || key.dims[1] <= 0 || key.dims[2] <= 0)
    return nullptr;
  if (gpu.multiprocessors == 0 || key.attributes.contains("chunk") || key.attributes.contains("causal")) return nullptr;
  if (!std::all_of(key.dtypes.begin(), key.dtypes.end(), is_16_bit)) return nullptr;
  if (key.family == "fa2") return make_fa2_tiles(key, gpu);
  if (key.family == "triton") return make_triton_tiles(key, gpu);
  if (key.family == "flashinfer") return make_flashinfer_tiles(key, gpu);
  return nullptr;
}

}  // namespace dooly::oracle
