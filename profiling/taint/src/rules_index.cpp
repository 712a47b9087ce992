#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dooly::profiling::rules {

namespace {

/// The common shape of several tensors, right-aligned.
Labels broadcast(const RuleCall& call, const std::vector<const Dims*>& operands, std::size_t rank) {
  Labels labels;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    std::vector<Candidate> candidates;
    std::int64_t size = 1;
    for (const Dims* operand : operands)
      if (dim + operand->size() >= rank) size = std::max(size, (*operand)[dim + operand->size() - rank].size);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (dim + operands[i]->size() < rank) continue;
      const Dim& own = (*operands[i])[dim + operands[i]->size() - rank];
      if (own.size == size) candidates.push_back({own.label, fmt::format("index {}", i)});
    }
    labels.push_back(call.agree(candidates, fmt::format("dimension {} of the indices", dim)));
  }
  return labels;
}

/// Rows that a mask picks: only the data know how many.
Results masked(const RuleCall& call, const TensorRecord& mask) {
  const Dims& self = call.tensor("self");
  if (call.tensors("indices").front()->dtype != mask.dtype ||
      call.output().size() + mask.dims.size() != self.size() + 1) {
    return {Labels(call.output().size())};
  }
  Labels labels(1);
  for (std::size_t i = mask.dims.size(); i < self.size(); ++i) labels.push_back(self[i].label);
  return {labels};
}

}  // namespace

Results index_select(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const Dims& index = call.tensor("index");
  labels[call.axis("dim", labels.size())] = index.empty() ? std::optional(Expression(1)) : index[0].label;
  return {labels};
}

Results take_along(const RuleCall& call) {
  const Dims &self = call.tensor("self"), &indices = call.tensor("indices"), &result = call.output();
  if (!call.has("dim")) {  // of all elements in one row
    std::optional<Expression> all(1);
    for (const Dim& dim : indices) all = all && dim.label ? std::optional(*all * *dim.label) : std::nullopt;
    return {{all}};
  }
  if (self.size() != indices.size()) call.fail("its rule needs indices of the operand's rank");
  Labels labels = labels_of(indices);
  const std::size_t along = call.axis("dim", self.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i == along) continue;
    std::vector<Candidate> candidates;
    if (self[i].size == result.at(i).size) candidates.push_back({self[i].label, "self"});
    if (indices[i].size == result.at(i).size) candidates.push_back({indices[i].label, "indices"});
    labels[i] = call.agree(candidates, fmt::format("dimension {} of the result", i));
  }
  return {labels};
}

Results index(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  std::vector<const Dims*> indices;
  std::size_t first = self.size(), last = 0, dim = 0, rank = 0;
  Labels kept_before, kept_after;
  const std::vector<const TensorRecord*> given = call.tensors("indices");
  for (std::size_t i = 0; i < std::max(given.size(), self.size()) && dim < self.size(); ++i, ++dim) {
    if (i >= given.size() || !given[i]->defined) {
      (indices.empty() ? kept_before : kept_after).push_back(self[dim].label);
      continue;
    }
    if (given[i]->dtype == "Bool" || given[i]->dtype == "Byte") return masked(call, *given[i]);
    indices.push_back(&given[i]->dims);
    rank = std::max(rank, given[i]->dims.size());
    first = std::min(first, dim);
    last = dim;
  }
  Labels labels = broadcast(call, indices, rank);
  const bool adjacent = last - first + 1 == indices.size();
  labels.insert(adjacent ? labels.begin() : labels.end(), kept_before.begin(), kept_before.end());
  labels.insert(labels.end(), kept_after.begin(), kept_after.end());
  return {labels};
}

Results embedding(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("indices|ids"));
  const Dims& table = call.tensor("weight|table");
  for (std::size_t i = 1; i < table.size(); ++i) labels.push_back(table[i].label);
  return {labels};
}

Results topk(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  if (labels.empty()) return Results(2, labels);
  labels[call.axis("dim", labels.size(), -1)] = requested_label(call.integer("k").value_or(Dim{0, std::nullopt}));
  return Results(call.record().outputs.size(), labels);
}

Results drawn(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  labels.back() = requested_label(call.integer("num_samples").value_or(Dim{0, std::nullopt}));
  return {labels};
}

Results declared_width(const RuleCall& call) {
  const std::string_view names = call.parameter();
  const std::size_t blank = names.find(' ');
  const Dims& rows = call.tensor(names.substr(0, blank));
  const std::string symbol(names.substr(blank + 1));
  const auto declared = call.binding().find(symbol);
  Results results;
  for (const TensorRecord& output : call.record().outputs) {
    Labels& labels = results.emplace_back(output.dims.size());
    if (labels.size() != 2) continue;
    labels[0] = rows[0].label;
    const bool known = declared != call.binding().end() && declared->second == output.dims[1].size;
    labels[1] = known ? std::optional(Expression::symbol(symbol, Origin::kModel)) : requested_label(output.dims[1]);
  }
  return results;
}

Results per_row(const RuleCall& call) {
  const auto [tensor, count] = call.tensor_and_count();
  Labels labels = labels_of(*tensor);
  if (labels.empty()) call.fail("its rule needs rows");
  labels.back() = count;
  return Results(call.record().outputs.size(), labels);
}

}  // namespace dooly::profiling::rules
