#include "split_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace dooly::profiling {

namespace {

enum class Operation { kProduct, kSum };

/// All ways to hand out `parts` (factors or terms) to places of given sizes, each part once.
class Distribution {
 public:
  Distribution(Operation operation, std::vector<Expression> parts, std::vector<std::int64_t> sizes,
               const Binding& binding)
      : operation_(operation),
        parts_(std::move(parts)),
        sizes_(std::move(sizes)),
        used_(parts_.size(), false) {
    for (const Expression& part : parts_) values_.push_back(part.evaluate(binding));
  }

  /// Distinct solutions, at most two. `exhaustive`: every part must be used.
  std::vector<std::vector<Expression>> solutions(bool exhaustive) {
    exhaustive_ = exhaustive;
    chosen_.assign(sizes_.size(), unit());
    if (parts_.size() <= kMostParts) place(0, 0, unit(), unit_value());
    return found_;
  }

 private:
  static constexpr std::size_t kMostParts = 16;

  Expression unit() const { return operation_ == Operation::kProduct ? 1 : 0; }
  std::int64_t unit_value() const { return operation_ == Operation::kProduct ? 1 : 0; }

  void place(std::size_t at, std::size_t from, const Expression& label, std::int64_t value) {
    if (found_.size() > 1) return;
    if (at == sizes_.size()) {
      if (exhaustive_ && std::find(used_.begin(), used_.end(), false) != used_.end()) return;
      if (std::find(found_.begin(), found_.end(), chosen_) == found_.end()) found_.push_back(chosen_);
      return;
    }
    if (value == sizes_[at]) {
      chosen_[at] = label;
      place(at + 1, 0, unit(), unit_value());
    }
    for (std::size_t i = from; i < parts_.size() && found_.size() < 2; ++i) {
      if (used_[i]) continue;
      const bool product = operation_ == Operation::kProduct;
      used_[i] = true;
      place(at, i + 1, product ? label * parts_[i] : label + parts_[i],
            product ? value * values_[i] : value + values_[i]);
      used_[i] = false;
    }
  }

  Operation operation_;
  std::vector<Expression> parts_;
  std::vector<std::int64_t> sizes_, values_;
  std::vector<bool> used_;
  std::vector<Expression> chosen_;
  std::vector<std::vector<Expression>> found_;
  bool exhaustive_ = true;
};

/// The only solution, or nothing; two are an error that names both.
std::optional<std::vector<Expression>> only(std::vector<std::vector<Expression>> found,
                                            const std::vector<std::int64_t>& sizes, const RuleCall& call) {
  if (found.size() > 1) {
    std::size_t i = 0;
    while (found[0][i] == found[1][i]) ++i;
    call.fail(fmt::format("a part of size {} is {} or {}: ambiguous, name the size where it is asked for", sizes[i],
                          found[0][i].text(), found[1][i].text()));
  }
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

/// Labels the unknown dimensions of one run.
void divide_run(const Expression& whole, Dims& run, const RuleCall& call) {
  Expression rest = whole;
  std::vector<std::size_t> unknown;
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (!run[i].label && run[i].size == 1) run[i].label = Expression(1);
    if (!run[i].label) {
      unknown.push_back(i);
      continue;
    }
    const auto share = exact_share(rest, *run[i].label, call);
    if (!share) {
      call.fail(fmt::format("{} does not divide {} exactly", run[i].label->text(), whole.text()));
    }
    rest = *share;
  }
  if (unknown.empty()) {
    if (rest != 1 && rest.is_request_driven()) {
      call.fail(fmt::format("a run of {} is asked for as another product, {} remains", whole.text(), rest.text()));
    }
  } else if (unknown.size() == 1) {
    run[unknown.front()].label = rest;
  } else {
    std::vector<std::int64_t> sizes;
    for (const std::size_t i : unknown) sizes.push_back(run[i].size);
    const auto labels =
        only(Distribution(Operation::kProduct, rest.factors(), sizes, call.binding()).solutions(true), sizes, call);
    for (std::size_t i = 0; labels && i < unknown.size(); ++i) run[unknown[i]].label = (*labels)[i];
  }
}

/// One dimension seen as one: what is known of either side must agree.
void pair(const Dim& in, Dim& out, const RuleCall& call) {
  if (in.label && out.label && *in.label != *out.label &&
      (in.label->is_request_driven() || out.label->is_request_driven())) {
    call.fail(fmt::format("a dimension of size {} is {} (operand) or {} (asked for): ambiguous", in.size,
                          in.label->text(), out.label->text()));
  }
  if (in.label) out.label = in.label;
}

void label_run(const Dims& in, Dims& out, const RuleCall& call) {
  if (out.empty()) return;
  if (in.size() == 1 && out.size() == 1) return pair(in.front(), out.front(), call);
  Expression whole(1);
  for (const Dim& dim : in) {
    if (!dim.label) {
      for (Dim& piece : out)
        if (!piece.label) piece.label = requested_label(piece);
      return;
    }
    whole = whole * *dim.label;
  }
  divide_run(whole, out, call);
}

}  // namespace

std::optional<Expression> exact_share(const Expression& whole, const Expression& divisor, const RuleCall& call) {
  if (const auto quotient = whole.exact_quotient(divisor)) return quotient;
  if (whole.is_request_driven() || divisor.is_request_driven()) return std::nullopt;
  const std::int64_t value = divisor.evaluate(call.binding());
  if (value <= 0 || whole.evaluate(call.binding()) % value != 0) return std::nullopt;
  return Expression::floor_div(whole, divisor);
}

Labels regroup(const Dims& in, const Dims& out, const RuleCall& call) {
  Labels labels;
  std::size_t i = 0, o = 0;
  while (i < in.size() || o < out.size()) {
    Dims from, to;
    std::int64_t have = 1, want = 1;
    do {  // the shorter side takes its next dimension until both products are equal
      const bool take_in = i < in.size() && (from.empty() || have < want || o == out.size());
      if (take_in) {
        have *= in[i].size;
        from.push_back(in[i++]);
      }
      if (o < out.size() && (to.empty() || (!take_in && want < have) || i == in.size())) {
        want *= out[o].size;
        to.push_back(out[o++]);
      }
    } while (have != want && (i < in.size() || o < out.size()));
    label_run(from, to, call);
    for (Dim& dim : to) labels.push_back(std::move(dim.label));
  }
  return labels;
}

Labels split_sum(const std::optional<Expression>& whole, const Dims& pieces, const RuleCall& call) {
  Labels labels = labels_of(pieces);
  if (!whole) return labels;
  Expression rest = *whole;
  std::vector<std::size_t> unknown;
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].label) {
      rest = rest - *pieces[i].label;
    } else {
      unknown.push_back(i);
      sizes.push_back(pieces[i].size);
    }
  }
  if (unknown.empty()) return labels;
  if (unknown.size() == 1) {
    labels[unknown.front()] = rest;
    return labels;
  }
  const auto found =
      only(Distribution(Operation::kSum, rest.unit_terms(), sizes, call.binding()).solutions(true), sizes, call);
  for (std::size_t i = 0; found && i < unknown.size(); ++i) labels[unknown[i]] = (*found)[i];
  return labels;
}

std::optional<Expression> part_of(const Dim& whole, const Dim& length, const RuleCall& call) {
  if (length.label) return length.label;
  if (length.size == whole.size) return whole.label;
  if (length.size == 0 || length.size == 1) return Expression(length.size);
  if (!whole.label) return std::nullopt;
  const auto found =
      only(Distribution(Operation::kSum, whole.label->unit_terms(), {length.size}, call.binding()).solutions(false),
           {length.size}, call);
  return found ? std::optional(found->front()) : std::nullopt;
}

}  // namespace dooly::profiling
