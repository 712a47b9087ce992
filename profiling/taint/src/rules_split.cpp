#include "rules.hpp"
#include "split_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::profiling::rules {

namespace {

/// `self` with dimension `at` replaced, once for each label.
Results pieces(const Dims& self, std::size_t at, const Labels& labels) {
  Results results;
  for (const auto& label : labels) {
    Labels& one = results.emplace_back(labels_of(self));
    one[at] = label;
  }
  return results;
}

/// Equal pieces; the last may be shorter.
Labels equal_pieces(const Dim& whole, const std::optional<Expression>& size, std::size_t count) {
  Labels labels(count, size);
  if (size && whole.label) {
    labels.back() = *whole.label - *size * Expression(static_cast<std::int64_t>(count) - 1);
  } else if (count > 0) {
    labels.back() = std::nullopt;
  }
  return labels;
}

/// Pieces that begin at 0 and at each of `places`.
Labels between(const Dim& whole, const Dims& places, std::size_t at, const RuleCall& call) {
  Dims asked;
  std::optional<Expression> from(0);
  for (std::size_t i = 0; i <= places.size(); ++i) {
    const auto to = i < places.size() ? requested_label(places[i]) : whole.label;
    asked.push_back({call.output(i).at(at).size, from && to ? std::optional(*to - *from) : std::nullopt});
    from = to;
  }
  return split_sum(whole.label, asked, call);
}

/// A slice bound: no bound, a tainted one, a literal 0 or 1, or literally so many from the end.
std::optional<Expression> bound(const std::optional<Dim>& given, const Dim& whole,
                                const std::optional<Expression>& none) {
  if (!given) return none;
  if (given->size >= whole.size) return whole.label;
  if (given->label) return given->size < 0 && whole.label ? std::optional(*whole.label + *given->label) : given->label;
  if (given->size < 0) return whole.label ? std::optional(*whole.label + Expression(given->size)) : std::nullopt;
  return requested_label(*given);
}

}  // namespace

Results split(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const std::size_t at = call.axis("dim", self.size());
  Dims asked = call.integers(call.has("split_sizes") ? "split_sizes" : "split_size");
  const bool equal =
      std::holds_alternative<Dim>(call.record().find(call.has("split_sizes") ? "split_sizes" : "split_size")->value);
  const std::size_t count = call.record().outputs.size();
  if (!equal) return pieces(self, at, split_sum(self[at].label, asked, call));
  if (asked[0].label) return pieces(self, at, equal_pieces(self[at], asked[0].label, count));
  for (std::size_t i = 1; i < count; ++i) asked.push_back(asked[0]);
  asked.back().size = call.output(count - 1).at(at).size;
  return pieces(self, at, split_sum(self[at].label, asked, call));
}

Results chunk(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const std::size_t at = call.axis("dim", self.size());
  if (call.has("indices")) return pieces(self, at, between(self[at], call.integers("indices"), at, call));
  const auto asked = call.integer(call.has("chunks") ? "chunks" : "sections");
  if (!asked) call.fail("its rule takes a number of pieces alone");
  const std::size_t count = call.record().outputs.size();
  if (!self[at].label) return pieces(self, at, Labels(count));
  const Expression parts = asked->label.value_or(Expression(asked->size));
  if (const auto share = exact_share(*self[at].label, parts, call)) return pieces(self, at, Labels(count, share));
  if (call.has("sections"))
    call.fail(fmt::format("{} is not {} equal pieces", label_text(self[at].label), parts.text()));
  return pieces(self, at, equal_pieces(self[at], Expression::ceil_div(*self[at].label, parts), count));
}

Results half_last(const RuleCall& call) {
  Labels labels = labels_of(call.tensor(call.parameter()));
  const std::size_t at = call.axis("dim", labels.size(), -1);
  if (labels[at]) labels[at] = exact_share(*labels[at], Expression(2), call);
  return Results(call.record().outputs.size(), labels);
}

Results narrow(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const std::size_t at = call.axis("dim", self.size());
  return pieces(self, at, {part_of(self[at], call.integer("length").value_or(call.output().at(at)), call)});
}

Results slice(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const std::size_t at = call.axis("dim", self.size());
  const Dim step = call.integer("step").value_or(Dim{1, Expression(1)});
  const std::int64_t length = call.output().at(at).size;
  if (length == self[at].size) return pieces(self, at, {self[at].label});
  const auto from = bound(call.integer("start"), self[at], Expression(0)),
             to = bound(call.integer("end"), self[at], self[at].label);
  std::optional<Expression> label;
  if (from && to) {
    const Expression by = step.label.value_or(Expression(step.size));
    label = Expression::ceil_div(*to - *from, by);
  } else if (step.size == 1) {
    label = part_of(self[at], {length, std::nullopt}, call);
  }
  return pieces(self, at, {label});
}

Results select(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  Labels labels = labels_of(self);
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(call.axis("dim", self.size())));
  return Results(call.record().outputs.size(), labels);
}

Results rows(const RuleCall& call) {
  Labels labels = labels_of(call.tensor(call.parameter()));
  labels.pop_back();
  return Results(call.record().outputs.size(), labels);
}

Results cat(const RuleCall& call) {
  std::vector<const TensorRecord*> parts = call.tensors("tensors");
  std::erase_if(parts, [](const TensorRecord* part) { return part->dims.size() == 1 && part->dims[0].size == 0; });
  if (parts.empty()) return {{Expression(0)}};
  const std::size_t at = call.axis("dim", parts[0]->dims.size());
  Labels labels;
  for (std::size_t dim = 0; dim < parts[0]->dims.size(); ++dim) {
    std::vector<Candidate> candidates;
    std::optional<Expression> sum(0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto& label = parts[i]->dims[dim].label;
      candidates.push_back({label, fmt::format("tensor {}", i)});
      sum = sum && label ? std::optional(*sum + *label) : std::nullopt;
    }
    labels.push_back(dim == at ? sum : call.agree(candidates, fmt::format("dimension {}", dim)));
  }
  return {labels};
}

Results cat_along(const RuleCall& call) {
  const std::vector<const TensorRecord*> parts = call.tensors("tensors");
  const bool is_flat = parts.at(0)->dims.size() <= 1, across = call.record().name == "aten::hstack";
  const std::size_t at = across && !is_flat ? 1 : 0;
  Labels labels;
  const auto rank = std::max<std::size_t>(call.output().size(), 1);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    std::vector<Candidate> candidates;
    std::optional<Expression> sum(0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Dims& own = parts[i]->dims;  // a vector is a row, a number a row of one
      const std::size_t lead = rank - own.size();
      const auto label = dim < lead ? std::optional(Expression(1)) : own[dim - lead].label;
      candidates.push_back({label, fmt::format("tensor {}", i)});
      sum = sum && label ? std::optional(*sum + *label) : std::nullopt;
    }
    labels.push_back(dim == at ? sum : call.agree(candidates, fmt::format("dimension {}", dim)));
  }
  return {labels};
}

Results stack(const RuleCall& call) {
  const std::vector<const TensorRecord*> parts = call.tensors("tensors");
  Labels labels;
  for (std::size_t dim = 0; dim < parts.at(0)->dims.size(); ++dim) {
    std::vector<Candidate> candidates;
    for (std::size_t i = 0; i < parts.size(); ++i)
      candidates.push_back({parts[i]->dims[dim].label, fmt::format("tensor {}", i)});
    labels.push_back(call.agree(candidates, fmt::format("dimension {}", dim)));
  }
  const auto at = static_cast<std::ptrdiff_t>(call.axis("dim", labels.size() + 1));
  labels.insert(labels.begin() + at, Expression(static_cast<std::int64_t>(parts.size())));
  return {labels};
}

}  // namespace dooly::profiling::rules
