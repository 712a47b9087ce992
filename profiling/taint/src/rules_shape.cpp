#include "rules.hpp"
#include "split_algebra.hpp"

#include <algorithm>
#include <cstdlib>

namespace dooly::profiling::rules {

namespace {

/// Sizes of the result, labelled as far as `wanted` (of the same rank, -1 for "the rest") says.
Dims asked_for(const Dims& result, const Dims& wanted) {
  Dims out;
  for (std::size_t i = 0; i < result.size(); ++i) {
    out.push_back({result[i].size, wanted.size() == result.size() ? wanted[i].label : std::nullopt});
  }
  return out;
}

/// Of a matrix, as many places above its corner as the offset says (literally), or below.
std::optional<Expression> diagonal_length(const std::optional<Expression>& rows,
                                          const std::optional<Expression>& columns, const std::optional<Dim>& offset) {
  if (!rows || !columns) return std::nullopt;
  const std::int64_t above = offset.value_or(Dim{}).size;
  return Expression::min(*rows + Expression(std::min<std::int64_t>(above, 0)),
                         *columns - Expression(std::max<std::int64_t>(above, 0)));
}

}  // namespace

Results view(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  Dims wanted = call.integers("size");
  if (wanted.empty()) wanted = call.integers("shape");
  if (const Dims sizes = call.integers("sizes"); !sizes.empty()) {  // unflatten
    wanted = self;
    const std::size_t at = call.axis("dim", self.size());
    wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(at));
    wanted.insert(wanted.begin() + static_cast<std::ptrdiff_t>(at), sizes.begin(), sizes.end());
  }
  return {regroup(self, asked_for(call.output(), wanted), call)};
}

Results view_dtype(const RuleCall& call) {
  const Dims &self = call.tensor("self"), &result = call.output();
  Labels labels = labels_of(self);
  if (self.empty() || self.back().size == result.back().size || !labels.back()) return {labels};
  const std::int64_t a = self.back().size, b = result.back().size;
  labels.back() =
      b > a ? std::optional(*labels.back() * Expression(b / a)) : exact_share(*labels.back(), Expression(a / b), call);
  return {labels};
}

Results reshape_like(const RuleCall& call) {
  return {regroup(call.tensor("self"), asked_for(call.output(), call.tensor("other")), call)};
}

Results transpose(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const bool axes = call.has("axis0");
  std::swap(labels[call.axis(axes ? "axis0" : "dim0", labels.size())],
            labels[call.axis(axes ? "axis1" : "dim1", labels.size())]);
  return {labels};
}

Results transpose_last(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const auto from = call.parameter() == "last" && labels.size() > 2 ? labels.end() - 2 : labels.begin();
  std::reverse(from, labels.end());
  return {labels};
}

Results permute(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  Labels labels;
  for (const Dim& dim : call.integers("dims")) labels.push_back(self[call.place(dim.size, self.size())].label);
  return {labels};
}

Results movedim(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const Dims from = call.integers("source"), to = call.integers("destination");
  Labels labels(self.size());
  std::vector<bool> moved(self.size(), false), filled(self.size(), false);
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::size_t a = call.place(from[i].size, self.size()), b = call.place(to[i].size, self.size());
    labels[b] = self[a].label;
    moved[a] = filled[b] = true;
  }
  for (std::size_t a = 0, b = 0; a < self.size(); ++a) {
    if (moved[a]) continue;
    while (filled[b]) ++b;
    labels[b++] = self[a].label;
  }
  return {labels};
}

Results squeeze(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  std::vector<bool> asked(self.size(), !call.has("dim"));
  for (const Dim& dim : call.integers("dim")) asked[call.place(dim.size, self.size())] = true;
  Labels labels;
  for (std::size_t i = 0; i < self.size(); ++i)
    if (!asked[i] || self[i].size != 1) labels.push_back(self[i].label);
  return {labels};
}

Results unsqueeze(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(call.axis("dim", labels.size() + 1)), Expression(1));
  return {labels};
}

Results expand(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const TensorRecord* other = call.find_tensor("other");
  const Dims wanted = other != nullptr ? other->dims : call.integers("size");
  Labels labels;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::size_t lead = wanted.size() - self.size();
    const bool kept = i >= lead && (wanted[i].size == -1 || self[i - lead].size == wanted[i].size);
    labels.push_back(kept ? call.agree({{self[i - lead].label, "operand"}, {requested_label(wanted[i]), "asked for"}},
                                       "a dimension that stays")
                          : requested_label(wanted[i]));
  }
  return {labels};
}

Results repeat(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  Dims times = call.integers(call.has("repeats") ? "repeats" : "dims");
  while (times.size() < self.size()) times.insert(times.begin(), Dim{1, Expression(1)});  // tile
  Labels labels;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::size_t lead = times.size() - self.size();
    const auto factor = requested_label(times[i]);
    const auto size = i < lead ? std::optional(Expression(1)) : self[i - lead].label;
    labels.push_back(factor && size ? std::optional(*factor * *size) : std::nullopt);
  }
  return {labels};
}

Results repeat_interleave(const RuleCall& call) {
  const auto times = call.integer("repeats");
  if (!times && !call.has("dim")) return data_dependent(call);
  Labels labels = labels_of(call.tensor("self"));
  if (!times) {  // so often as a tensor says
    labels[call.axis("dim", labels.size())].reset();
    return {labels};
  }
  const auto factor = requested_label(*times);
  if (!call.has("dim")) {  // of all elements in one row
    Expression all(1);
    for (const auto& label : labels) {
      if (!label) return {Labels(1)};
      all = all * *label;
    }
    return {{factor ? std::optional(all * *factor) : std::nullopt}};
  }
  auto& label = labels[call.axis("dim", labels.size())];
  label = label && factor ? std::optional(*label * *factor) : std::nullopt;
  return {labels};
}

Results pad(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const Dims pads = call.integers("pad");  // pairs, last dimension first
  for (std::size_t i = 0; i < pads.size() && i / 2 < labels.size(); ++i) {
    auto& label = labels[labels.size() - 1 - i / 2];
    const auto extra = requested_label(pads[i]);
    label = label && extra ? std::optional(*label + *extra) : std::nullopt;
  }
  return {labels};
}

Results windows(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const auto size = requested_label(call.integer("size").value_or(Dim{}));
  const Dim step = call.integer("step").value_or(Dim{1, Expression(1)});
  const Expression by = step.label.value_or(Expression(step.size));  // a literal step is meant so
  if (!labels.empty()) {
    auto& label = labels[call.axis("dimension", labels.size())];
    label = label && size ? std::optional(Expression::floor_div(*label - *size, by) + 1) : std::nullopt;
  }
  labels.push_back(size);
  return {labels};
}

Results diagonal(const RuleCall& call) {
  Labels labels = labels_of(call.tensor(call.parameter()));
  const std::size_t a = call.axis("dim1", labels.size()), b = call.axis("dim2", labels.size(), 1);
  const auto length = diagonal_length(labels[a], labels[b], call.integer("offset"));
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)));
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(std::min(a, b)));
  labels.push_back(length);
  return {labels};
}

Results diag_embed(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const std::int64_t offset = call.integer("offset").value_or(Dim{}).size;
  const auto side = labels.back() ? std::optional(*labels.back() + Expression(std::abs(offset))) : std::nullopt;
  labels.pop_back();
  const std::size_t rank = labels.size() + 2;
  const std::size_t a = call.axis("dim1", rank, -2), b = call.axis("dim2", rank, -1);
  labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(std::min(a, b)), side);
  labels.insert(labels.begin() + static_cast<std::ptrdiff_t>(std::max(a, b)), side);
  return {labels};
}

Results diag(const RuleCall& call) {
  const Labels labels = labels_of(call.tensor("self"));
  if (labels.size() == 2) return {{diagonal_length(labels[0], labels[1], call.integer("diagonal"))}};
  const std::int64_t offset = call.integer("diagonal").value_or(Dim{}).size;
  const auto side = labels.at(0) ? std::optional(*labels[0] + Expression(std::abs(offset))) : std::nullopt;
  return {{side, side}};
}

Results parts_of_complex(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  labels.emplace_back(Expression(2));
  return {labels};
}

Results meshgrid(const RuleCall& call) {
  Labels labels;
  for (const TensorRecord* tensor : call.tensors("tensors"))
    labels.push_back(tensor->dims.empty() ? std::optional(Expression(1)) : tensor->dims[0].label);
  if (call.has("indexing") && call.text("indexing") == "xy" && labels.size() > 1) std::swap(labels[0], labels[1]);
  return Results(call.record().outputs.size(), labels);
}

}  // namespace dooly::profiling::rules
