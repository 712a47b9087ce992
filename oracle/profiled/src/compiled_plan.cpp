#include "oracle_profiled/compiled_plan.hpp"

#include "plan_compiler.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace dooly::oracle {

namespace {

void add_to(Provenance& provenance, Origin origin, double seconds) {
  switch (origin) {
    case Origin::kMeasured: provenance.measured += seconds; break;
    case Origin::kInterpolated: provenance.interpolated += seconds; break;
    case Origin::kExtrapolated: provenance.extrapolated += seconds; break;
    case Origin::kRoofline: provenance.roofline += seconds; break;
  }
}

}  // namespace

CompiledPlan::CompiledPlan(const StepPlan& plan, std::span<const SampleSource* const> sources, const Gpu& gpu,
                           const CompileSettings& settings)
    : graphs_(settings.capture_sizes),
      clock_(settings.clock),
      layers_(layer_counts(plan)),
      backend_(plan.backend) {
  shares_.resize(2 * (std::size_t{settings.max_num_seqs} + 2));  // the last two for more decodes than that
  PlanCompiler(*this, sources, gpu, settings).compile(plan);
  const std::uint32_t most = settings.max_num_batched_tokens + settings.max_num_seqs;
  token_table_.resize(std::max(most, graphs_.largest()) + 1);
  for (std::uint32_t tokens = 1; tokens < token_table_.size(); ++tokens) {
    const std::uint32_t rows = graphs_.padded(tokens);
    if (tokens > 1 && rows == graphs_.padded(tokens - 1)) {
      token_table_[tokens] = token_table_[tokens - 1];
    } else {
      token_table_[tokens] = row_of(by_tokens_, rows);
    }
  }
  logits_table_.resize(settings.max_num_seqs + 1);
  for (std::uint32_t rows = 1; rows < logits_table_.size(); ++rows) logits_table_[rows] = row_of(by_rows_, rows);
  if (by_decodes_.empty()) return;
  decode_table_.resize(settings.max_num_seqs + 1);
  for (std::uint32_t n = 1; n < decode_table_.size(); ++n) decode_table_[n] = row_of(by_decodes_, n);
}

void CompiledPlan::AttentionOperatorModel::hold(const BatchShape& shape, std::span<const PrefillChunk> chunks,
                                                AttentionModel::Result& result) const {
  BatchShape less = shape;
  less.prefills = chunks;
  const AttentionModel::Result least = model.at(less, ChunkSums::of(less));
  if (result.seconds >= least.seconds) return;
  result.seconds = least.seconds;
  result.error = std::max(result.error, least.error);
  result.origin = worse(result.origin, Origin::kInterpolated);
}

void CompiledPlan::AttentionOperatorModel::hold_first_tokens(const BatchShape& shape,
                                                             AttentionModel::Result& result) const {
  if (model.work().dealt) return;  // decodes alone run in other kernels there, which may be the slower ones
  if (shape.prefills.size() > kMostHeld ||
      std::all_of(shape.prefills.begin(), shape.prefills.end(), [](const PrefillChunk& c) {
        return c.query > kMostHeld;  // of longer ones no token is the first to matter
      }))
    return;
  std::array<PrefillChunk, kMostHeld> ones;
  std::transform(shape.prefills.begin(), shape.prefills.end(), ones.begin(), [](const PrefillChunk& chunk) {
    return PrefillChunk{1, chunk.context};
  });
  hold(shape, std::span(ones).first(shape.prefills.size()), result);
}

void CompiledPlan::AttentionOperatorModel::hold_longest_chunk(const BatchShape& shape, const ChunkSums& chunks,
                                                              AttentionModel::Result& result) const {
  constexpr double kMuchLonger = 1.5, kLost = 1.9;  // than what those that stand for all see
  if (shape.prefills.size() < 2) return;
  const auto tokens = [](const PrefillChunk& chunk) { return std::uint64_t{chunk.query} + chunk.context; };
  std::size_t longest = 0;
  for (std::size_t i = 1; i < shape.prefills.size(); ++i)
    if (tokens(shape.prefills[i]) > tokens(shape.prefills[longest])) longest = i;
  const PrefillChunk chunk = shape.prefills[longest];
  if (chunk.query < 2) return;
  hold(shape, std::span(&chunk, 1), result);
  if (model.work().dealt || shape.prefills.size() > kMostHeld) return;  // there decodes run in a launch of their own
  const double seen = (chunks.query_context + chunks.query_squares) / chunks.query;
  const double lost = std::min(1.0, (chunks.longest / seen - kMuchLonger) / (kLost - kMuchLonger));
  if (!(lost > 0)) return;
  std::array<PrefillChunk, kMostHeld> others;
  std::copy(shape.prefills.begin(), shape.prefills.end(), others.begin());
  others[longest].query = 1;
  AttentionModel::Result held = result;
  hold(shape, std::span(others).first(shape.prefills.size()), held);
  result.seconds = lost < 1 ? result.seconds + lost * (held.seconds - result.seconds) : held.seconds;
  result.origin = held.origin;
  result.error = held.error;
}

CompiledPlan::Row CompiledPlan::row_of(const std::vector<RowOperator>& operators, double rows) {
  Row row;
  for (const RowOperator& op : operators) {
    const double x = rows * op.scale;
    const Answer answer = op.curve.at(x);
    const double seconds = op.count * answer.seconds;
    (op.collective ? row.collective : row.token_ops) += seconds;
    if (!op.collective) row.clock += seconds * (op.slower.factor(op.curve.work(), x) - 1);
    row.compute += std::min(seconds, op.count * op.curve.work().compute(x));
    row.origin[static_cast<int>(answer.origin)] += seconds;
    row.error += seconds * answer.error;
  }
  return row;
}

CompiledPlan::Row CompiledPlan::row_in(const std::vector<Row>& table, const std::vector<RowOperator>& operators,
                                       std::uint32_t index, std::uint32_t rows) {
  if (index == 0) return {};
  return index < table.size() ? table[index] : row_of(operators, rows);
}

CompiledPlan::Row CompiledPlan::sum_rows(const BatchShape& shape) const {
  const std::uint32_t tokens = shape.tokens();
  Row sum = row_in(token_table_, by_tokens_, tokens, graphs_.padded(tokens));
  const auto add = [&](const Row& more) {
    sum.token_ops += more.token_ops;
    sum.collective += more.collective;
    sum.clock += more.clock;
    sum.compute += more.compute;
    for (int i = 0; i < 4; ++i) sum.origin[i] += more.origin[i];
    sum.error += more.error;
  };
  if (shape.logits_rows > 0) {
    if (shape.logits_rows < logits_table_.size()) {
      add(logits_table_[shape.logits_rows]);
    } else {
      add(row_of(by_rows_, shape.logits_rows));
    }
  }
  if (by_decodes_.empty() && by_prefill_tokens_.empty()) return sum;
  std::uint32_t absorbed = shape.decodes;
  double expanded = 0;
  for (const PrefillChunk& chunk : shape.prefills) {
    const bool is_short = chunk.query <= longest_absorbed_;
    absorbed += is_short ? chunk.query : 0;
    expanded += is_short ? 0 : double(chunk.query) + chunk.context;
  }
  add(row_in(decode_table_, by_decodes_, absorbed, absorbed));
  if (expanded > 0) add(row_of(by_prefill_tokens_, expanded));
  return sum;
}

/// Shares of a decode step change slowly with the context. They are those at the middle of an interval of mean
/// contexts, so that all steps of a run have the same. What sequences share is not in them.
inline const CompiledPlan::DecodeShares& CompiledPlan::decode_shares(const BatchShape& shape) const {
  DecodeShares* two = &shares_[2 * std::min<std::size_t>(shape.decodes, shares_.size() / 2 - 1)];
  if (two[0].holds(shape)) return two[0];
  return two[1].holds(shape) ? two[1] : renew(two, shape);
}

const CompiledPlan::DecodeShares& CompiledPlan::renew(DecodeShares* two, const BatchShape& shape) const {
  const std::uint64_t mean = shape.decode_context / shape.decodes;
  const std::uint64_t width = std::max<std::uint64_t>(256, std::bit_floor(mean) / 4), start = mean & ~(width - 1);
  DecodeShares& out = two[(start & width) != 0 ? 1 : 0];  // means swing about the end of an interval
  out = {};
  out.decodes = shape.decodes;
  out.logits_rows = shape.logits_rows;
  out.from = start * shape.decodes;
  out.until = (start + width) * shape.decodes;
  BatchShape middle;
  middle.decodes = shape.decodes;
  middle.logits_rows = shape.logits_rows;
  middle.decode_context = shape.decodes * (start + width / 2);
  middle.decode_context_squares = middle.decode_context * (start + width / 2);
  fill(out, middle);
  return out;
}

void CompiledPlan::fill(DecodeShares& out, const BatchShape& middle) const {
  const Row rows = sum_rows(middle);
  out.token_ops = rows.token_ops;
  out.collective = rows.collective;
  out.clock = rows.clock;
  Provenance seconds{rows.origin[0], rows.origin[1], rows.origin[2], rows.origin[3]};
  double total = rows.token_ops + rows.collective, error = rows.error, compute = rows.compute, attention = 0;
  for (const AttentionOperatorModel& op : attention_) {
    const AttentionModel::Result result = op.at(middle, {});
    const double taken = op.count * result.seconds;
    add_to(seconds, result.origin, taken);
    total += taken;
    attention += taken;
    out.clock += op.count * result.clock_seconds;
    error += taken * result.error;
    compute += std::min(taken, op.count * result.compute_seconds);
  }
  if (!(total > 0)) return;
  out.share = {seconds.measured / total, seconds.interpolated / total, seconds.extrapolated / total,
               seconds.roofline / total};
  out.stated_error = error / total;
  out.compute_share = clock_.drive(std::min(1.0, compute / total), attention / total);
}

void CompiledPlan::cost(const BatchShape& shape, DeviceState state, StepCost& answer) const {
  if (shape.empty()) return;
  if (shape.prefills.empty()) {
    const DecodeShares& shares = decode_shares(shape);
    double attention = 0;
    for (const AttentionOperatorModel& op : attention_) attention += op.count * op.model.decode_seconds(shape);
    answer.device.token_ops = shares.token_ops;
    answer.device.collective = shares.collective;
    answer.device.attention = attention;
    answer.device.other = state.sustained * shares.clock;
    const double total = answer.device.total();
    answer.provenance = {shares.share.measured * total, shares.share.interpolated * total,
                         shares.share.extrapolated * total, shares.share.roofline * total};
    answer.stated_error = shares.stated_error;
    answer.compute_share = shares.compute_share;
    return;
  }
  const Row rows = sum_rows(shape);
  answer.device.token_ops = rows.token_ops;
  answer.device.collective = rows.collective;
  const ChunkSums chunks = ChunkSums::of(shape);
  double clock = rows.clock, error = rows.error, compute = rows.compute, attention = 0, decode_attention = 0;
  answer.provenance = {rows.origin[0], rows.origin[1], rows.origin[2], rows.origin[3]};
  for (const AttentionOperatorModel& op : attention_) {
    const AttentionModel::Result result = op.at(shape, chunks);
    const double taken = op.count * result.seconds;
    attention += taken;
    clock += op.count * result.clock_seconds;
    decode_attention += op.count * result.decode_seconds;
    compute += std::min(taken, op.count * result.compute_seconds);
    error += taken * result.error;
    add_to(answer.provenance, result.origin, taken);
  }
  answer.device.attention = attention;
  const double cool = rows.token_ops + rows.collective + attention;
  if (!(cool > 0)) return;
  answer.compute_share = clock_.drive(std::min(1.0, compute / cool), std::min(1.0, decode_attention / cool));
  answer.device.other = clock_.mean_during(state.sustained, answer.compute_share, cool) * clock;
  answer.stated_error = error / cool;
  const double slower = answer.device.total() / cool;
  answer.provenance.measured *= slower;
  answer.provenance.interpolated *= slower;
  answer.provenance.extrapolated *= slower;
  answer.provenance.roofline *= slower;
}

/// The same additions as cost(), in the same order.
bool CompiledPlan::decode_run(const BatchShape& first, double gaps_s, std::span<double> device_s,
                              LatencyOracle::DecodeRun& run) const {
  const std::uint32_t n = first.decodes;
  if (n == 0 || !first.prefills.empty() || first.logits_rows != n || n >= token_table_.size() ||
      n >= logits_table_.size())
    return false;
  const DecodeShares& shares = decode_shares(first);
  run.share = shares.share;
  run.stated_error = shares.stated_error;
  run.compute_share = shares.compute_share;
  run.per_sustained_s = shares.clock;
  const std::uint64_t left = shares.until - first.decode_context;  // n fewer with each step
  run.steps = static_cast<std::uint32_t>(
      left >= device_s.size() * n ? device_s.size() : std::min<std::uint64_t>(device_s.size(), (left + n - 1) / n));
  const std::span<double> steps = device_s.first(run.steps);
  std::fill(steps.begin(), steps.end(), 0.0);
  for (const AttentionOperatorModel& op : attention_) op.model.walk_from(first).add_to(steps, op.count, first);
  for (double& seconds : steps) seconds = DeviceTime{shares.token_ops, seconds, shares.collective, 0, gaps_s}.total();
  return true;
}

}  // namespace dooly::oracle
