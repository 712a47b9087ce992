#include "oracle_profiled/attention_model.hpp"

#include "key_dtype.hpp"
#include "oracle/oracle_error.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

namespace dooly::oracle {
namespace {

std::uint64_t whole(const OperatorKey& key, const char* attribute) {
  const auto found = key.attributes.find(attribute);
  if (found == key.attributes.end()) return 0;
  const auto* value = std::get_if<std::int64_t>(&found->second);
  return value != nullptr && *value > 0 ? static_cast<std::uint64_t>(*value) : 0;
}

}  // namespace

AttentionRoofline attention_roofline(const OperatorKey& key, const Gpu& gpu, const Efficiency& efficiency) {
  const auto dim = [&](std::size_t i) { return i < key.dims.size() ? static_cast<double>(key.dims[i]) : 0.0; };
  double prefill_flops = 0, decode_flops = 0, kv_elements = 0;
  if (key.kind == "attention") {
    prefill_flops = decode_flops = 4 * dim(0) * dim(2);
    kv_elements = 2 * dim(1) * dim(2);
  } else if (key.kind == "mla_attention" || key.kind == "mla_module") {
    const std::size_t skip = key.kind == "mla_module" ? 1 : 0;  // hidden before, q_lora_rank after the heads
    const double heads = dim(skip), rank = dim(1 + 2 * skip), nope = dim(2 + 2 * skip), rope = dim(3 + 2 * skip);
    prefill_flops = 2 * heads * (nope + rope + dim(4 + 2 * skip));
    decode_flops = 2 * heads * (2 * rank + rope);
    kv_elements = rank + rope;
  } else if (key.kind == "mla_index") {
    prefill_flops = decode_flops = 2 * dim(0) * dim(1);
    kv_elements = dim(1);
  } else {
    throw OracleError(fmt::format("no attention: operator kind '{}'", key.kind));
  }
  const std::string cache = key.dtypes.size() > 1 ? key.dtypes[1] : key.dtypes.empty() ? "bfloat16" : key.dtypes[0];
  const DType compute = key.dtypes.empty() ? DType::kBfloat16 : key_dtype(key.dtypes[0]);
  AttentionRoofline work;
  if (const std::uint64_t window = whole(key, "window"); window > 0) {
    work.kind = AttentionKind::kSlidingWindow;
    work.window = static_cast<double>(window);
  } else if (const std::uint64_t chunk = whole(key, "chunk"); chunk > 0) {
    work.kind = AttentionKind::kChunkedLocal;  // on average half of the chunk lies before a token
    work.window = static_cast<double>(chunk) / 2;
  }
  const double flops = peak_flops(gpu, compute) * efficiency.attention;
  work.pair_s = prefill_flops / flops;
  work.decode_pair_s = decode_flops / flops;
  work.token_s = kv_elements * bytes_per_element(key_dtype(cache)) / (gpu.memory_bandwidth * efficiency.memory);
  work.kernel_s = efficiency.kernel_seconds;
  if (SharedReads::is_measured(gpu) && key.kind == "attention" && work.kind == AttentionKind::kFull && dim(1) > 0)
    work.in_flight = gpu.multiprocessors / dim(1);
  work.tiles = FlashTiles::of(key, gpu);
  work.dealt = DealtKernel::of(key, gpu);
  return work;
}

ChunkSums ChunkSums::of(const BatchShape& shape) {
  ChunkSums sums;
  sums.count = static_cast<double>(shape.prefills.size());
  for (const PrefillChunk& chunk : shape.prefills) {
    if (chunk.query == 1) {
      ++sums.single;
      sums.single_context += chunk.context;
      sums.single_context_squares += std::uint64_t{chunk.context} * chunk.context;
      sums.single_context_cubes += std::uint64_t{chunk.context} * chunk.context * chunk.context;
      sums.single_longest = std::max(sums.single_longest, chunk.context);
      --sums.count;
      continue;
    }
    const double q = chunk.query, c = chunk.context;
    sums.query += q;
    sums.query_squares += q * q;
    sums.query_context += q * c;
    sums.longest = std::max(sums.longest, c + q);
  }
  return sums;
}

FlashTiles::Launch AttentionModel::launch_of(const DecodeMean& mean) {
  if (mean.longest > mean.mean) return TwoLengths(mean).launch();
  return {.decodes = mean.decodes, .attended = mean.mean};
}

/// `decodes`: those of `mean`.
MixedSurface::Point AttentionModel::mixed_point(const PrefillSurface::Batch& batch, const DecodeMean& mean,
                                                const FlashTiles::Launch& decodes, double prefill_s, double decode_s) {
  MixedSurface::Point point;
  point.where = {batch.query_sum, batch.context, mean.decodes, mean.attended};
  point.launch = decodes;
  point.launch.chunks = batch.chunks;
  point.launch.query = batch.query;
  point.launch.context = batch.context;
  point.prefill_s = prefill_s;
  point.decode_s = decode_s;
  return point;
}

/// For windows Scarf's bound, as in decode_attended(): exact if all contexts are equal.
double AttentionModel::attended_mean(const BatchShape& shape) const {
  AttentionOperator op;
  op.kind = AttentionKind::kSlidingWindow;
  op.window = static_cast<std::uint32_t>(std::max(1.0, work_.window));
  return decode_attended(op, shape) / shape.decodes;
}

PrefillSurface::Batch AttentionModel::prefill_batch(const BatchShape& shape, const ChunkSums& chunks) const {
  PrefillSurface::Batch batch;
  batch.query_sum = chunks.query;
  if (shape.prefills.size() == 1) {  // what the quotients come to
    batch.query = chunks.query;
    batch.chunks = 1;
    batch.context = shape.prefills.front().context;
  } else {
    batch.query = chunks.query_squares / chunks.query;
    batch.chunks = chunks.query / batch.query;
    batch.context = chunks.query_context / chunks.query;
  }
  if (work_.kind == AttentionKind::kFull) {
    batch.pair_sum = chunks.query_context + (chunks.query_squares + chunks.query) / 2;
    batch.longest_kv = chunks.longest;
    for (const PrefillChunk& chunk : shape.prefills)
      if (chunk.query > 1) batch.kv_sum += double(chunk.context) + chunk.query;
  } else {
    for (const PrefillChunk& chunk : shape.prefills) {
      if (chunk.query == 1) continue;
      const double kv = work_.kv_tokens(chunk.query, chunk.context);
      batch.pair_sum += work_.pairs(chunk.query, chunk.context);
      batch.longest_kv = std::max(batch.longest_kv, kv);
      batch.kv_sum += kv;
    }
  }
  return batch;
}

AttentionModel::Result AttentionModel::of_decodes(const BatchShape& shape) const {
  Result result{0, 0, 0, Origin::kMeasured, 0};
  if (shape.decodes == 0) return result;
  const DecodeMean mean = leaning(mean_of(shape));
  const Answer decode = decode_.at(mean.decodes, mean.place);
  result.seconds = uneven_seconds(decode.seconds, mean);
  result.origin = result.seconds != decode.seconds ? worse(decode.origin, Origin::kInterpolated) : decode.origin;
  result.error =
      result.origin == Origin::kInterpolated ? std::max(decode.error, decode_.interpolation_error()) : decode.error;
  result.compute_seconds = mean.decodes * mean.attended * work_.decode_pair_s;
  result.decode_seconds = result.seconds;
  result.clock_seconds = result.seconds * decode_slowdown(mean);
  return result;
}

/// Share of the time that decodes take longer at the sustained clock.
double AttentionModel::decode_slowdown(const DecodeMean& mean) const {
  return decode_slower_.empty() ? decode_slowdown_ : decode_slower_.factor(mean.decodes, mean.attended) - 1;
}

/// Share of the time that prompts take longer at the sustained clock.
double AttentionModel::prefill_slowdown(const PrefillSurface::Batch& batch) const {
  if (!prefill_slower_.empty())
    return prefill_slower_.factor(batch.query_sum, batch.context + batch.query_sum / batch.chunks) - 1;
  const double computing = batch.pair_sum * work_.pair_s;
  const double reading = batch.kv_sum * work_.token_s + work_.kernel_s;
  return std::max(computing * (1 + prefill_slowdown_), reading) / std::max(computing, reading) - 1;
}

/// Decodes beside chunks where one launch is fitted by its tiles: its parts are asked only for the clock, so the
/// decodes alone and what is left do for them. False where the samples do not reach: the parts say how far off that is.
bool AttentionModel::at_by_tiles(const BatchShape& shape, const PrefillSurface::Batch& batch, Result& result) const {
  if (shape.decode_longest == 0) return false;
  Walk& decodes = steady(shape);
  const double alone = decodes.alone(shape);
  const DecodeMean mean = decodes.mean(shape);
  const MixedSurface::Point point =
      mixed_point(batch, mean, decodes.counts_lengths_ ? decodes.launch_ : launch_of(leaning(mean)), 0, decodes.even_);
  if (!mixed_.covers(point.where)) return false;
  result.seconds = mixed_.seconds(point);
  result.decode_seconds = std::min(alone, result.seconds);
  result.clock_seconds = (result.seconds - result.decode_seconds) * prefill_slowdown(batch) +
                         result.decode_seconds * decode_slowdown(mean);
  result.compute_seconds = mean.decodes * mean.attended * work_.decode_pair_s + batch.pair_sum * work_.pair_s;
  result.origin = Origin::kInterpolated;
  result.error = mixed_.interpolation_error();
  return true;
}

/// Chunks of one token count as decodes.
AttentionModel::Result AttentionModel::as_if_alone(const BatchShape& batch_shape, const ChunkSums& chunks) const {
  if (chunks.single == 0) return of_both(batch_shape, chunks);
  BatchShape shape = batch_shape;
  shape.decodes += chunks.single;
  shape.decode_context += chunks.single_context;
  shape.decode_context_squares += chunks.single_context_squares;
  if (batch_shape.decodes == 0 || shape.decode_context_cubes > 0)
    shape.decode_context_cubes += chunks.single_context_cubes;
  shape.decode_longest = std::max(shape.decode_longest, chunks.single_longest);
  return of_both(shape, chunks);
}

/// Decodes, and chunks of more tokens than one.
AttentionModel::Result AttentionModel::of_both(const BatchShape& shape, const ChunkSums& chunks) const {
  if (chunks.query <= 0) return of_decodes(shape);
  Result result;
  const PrefillSurface::Batch batch = prefill_batch(shape, chunks);
  if (shape.decodes > 0 && mixed_.follows_tiles() && at_by_tiles(shape, batch, result)) return result;
  const Result decode = of_decodes(shape);
  const Answer prefill = prefill_.at(batch);
  result.clock_seconds = prefill.seconds * prefill_slowdown(batch) + decode.clock_seconds;
  result.decode_seconds = decode.seconds;
  result.compute_seconds = decode.compute_seconds + batch.pair_sum * work_.pair_s;
  if (shape.decodes == 0) {
    result.seconds = prefill.seconds;
    result.origin = prefill.origin;
    result.error = prefill.error;
    return result;
  }
  const double parts = prefill.seconds + decode.seconds;
  result.origin = worse(prefill.origin, decode.origin);
  result.error = (prefill.error * prefill.seconds + decode.error * decode.seconds) / parts;
  if (!mixed_.is_measured()) {
    result.seconds = parts;
    result.origin = worse(result.origin, Origin::kInterpolated);
    result.error = std::max(result.error, kExtrapolationError);  // what both in one launch save or cost is not known
    return result;
  }
  const DecodeMean mean = leaning(mean_of(shape));
  const double even = decode_.seconds(mean.decodes, mean.place);
  const SkewCurve& skew = mixed_skew_.empty() ? skew_ : mixed_skew_;
  const MixedSurface::Point point = mixed_point(batch, mean, launch_of(mean), prefill.seconds, even);
  result.seconds = mixed_.seconds(point);
  const bool is_in_tiles = mixed_.follows_tiles() && mean.longest > 0;
  if (!is_in_tiles) result.seconds += even * mean.cv * skew.slope(mean.decodes);
  result.origin = mixed_.covers(point.where) ? Origin::kInterpolated : Origin::kExtrapolated;
  result.error = result.origin == Origin::kInterpolated
                     ? mixed_.interpolation_error()
                     : std::max({mixed_.interpolation_error(), result.error, kExtrapolationError});
  return result;
}

void AttentionModel::share(const BatchShape& shape, Result& result) const {
  const double saved = saved_seconds(shared_.reach(shape), shape, result.decode_seconds);
  if (!(saved > 0)) return;
  result.clock_seconds *= 1 - saved / result.seconds;
  result.seconds -= saved;
  result.decode_seconds -= saved;
  if (result.origin != Origin::kMeasured) return;
  result.origin = Origin::kInterpolated;
  result.error = std::max(result.error, decode_.interpolation_error());
}

double AttentionModel::fold_error() const {
  const double decodes = static_cast<double>(decode_.points()), prefills = static_cast<double>(prefill_.points()),
               mixed = static_cast<double>(mixed_.points());
  const double all = decodes + prefills + mixed;
  if (all == 0) return 0;
  return (decodes * decode_.fold_error() + prefills * prefill_.fold_error() + mixed * mixed_.fold_error()) / all;
}

}  // namespace dooly::oracle
