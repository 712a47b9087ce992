#include "rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace dooly::profiling::rules {

namespace {

struct Operand {
  std::string name;
  const Dims* dims;
};

/// All tensors that are read, those in lists too.
std::vector<Operand> operands_of(const RuleCall& call) {
  std::vector<Operand> all;
  for (const Argument& argument : call.record().arguments) {
    if (argument.is_written && argument.name.starts_with("out")) continue;
    if (const auto* tensor = std::get_if<TensorRecord>(&argument.value); tensor != nullptr && tensor->defined) {
      all.push_back({argument.name, &tensor->dims});
    } else if (const auto* list = std::get_if<std::vector<TensorRecord>>(&argument.value)) {
      for (std::size_t i = 0; i < list->size(); ++i)
        if ((*list)[i].defined) all.push_back({fmt::format("{}[{}]", argument.name, i), &(*list)[i].dims});
    }
  }
  return all;
}

/// Dimensions of `operands` aligned at the right, up to `skip` last ones, broadcast to the result's.
Labels broadcast(const RuleCall& call, const std::vector<Operand>& operands, const Dims& result, std::size_t skip = 0) {
  Labels labels;
  for (std::size_t dim = 0; dim + skip < result.size(); ++dim) {
    std::vector<Candidate> candidates;
    for (const Operand& operand : operands) {
      if (dim + operand.dims->size() < result.size()) continue;
      const Dim& own = (*operand.dims)[dim + operand.dims->size() - result.size()];
      if (own.size == result[dim].size) candidates.push_back({own.label, operand.name});
    }
    labels.push_back(call.agree(candidates, fmt::format("dimension {} of the result", dim)));
  }
  return labels;
}

void contract(const RuleCall& call, const Operand& a, std::size_t i, const Operand& b, std::size_t j) {
  (void)call.agree({{(*a.dims)[i].label, a.name}, {(*b.dims)[j].label, b.name}}, "the contracted dimension");
}

}  // namespace

Results elementwise(const RuleCall& call) {
  Results results;
  for (const TensorRecord& output : call.record().outputs) {
    results.push_back(broadcast(call, operands_of(call), output.dims));
  }
  return results;
}

Results linear(const RuleCall& call) {
  const Operand x{"input", &call.tensor("input|x")}, weight{"weight", &call.tensor("weight")};
  contract(call, x, x.dims->size() - 1, weight, weight.dims->size() - 1);
  Labels labels = labels_of(*x.dims);
  labels.pop_back();
  if (weight.dims->size() == 2) labels.push_back(weight.dims->front().label);
  return {labels};
}

Results matmul(const RuleCall& call) {
  const Operand a{"first", &call.tensor("batch1|mat1|self")},
      b{"second", &call.tensor("batch2|mat2|vec2|other|tensor|vec")};
  const std::size_t rows = b.dims->size() < 2 ? 0 : b.dims->size() - 2;
  contract(call, a, a.dims->size() - 1, b, rows);
  const std::size_t own = (a.dims->size() > 1 ? 1U : 0U) + (b.dims->size() > 1 ? 1U : 0U);
  Labels labels;
  const Dims& result = call.output();
  // Batch dimensions broadcast: as if both had the result's last two.
  for (std::size_t dim = 0; dim + own < result.size(); ++dim) {
    std::vector<Candidate> candidates;
    for (const Operand& operand : {a, b}) {
      const std::size_t batch = operand.dims->size() < 2 ? 0 : operand.dims->size() - 2, wanted = result.size() - own;
      if (dim + batch < wanted) continue;
      const Dim& size = (*operand.dims)[dim + batch - wanted];
      if (size.size == result[dim].size) candidates.push_back({size.label, operand.name});
    }
    labels.push_back(call.agree(candidates, fmt::format("batch dimension {}", dim)));
  }
  if (a.dims->size() > 1) labels.push_back((*a.dims)[a.dims->size() - 2].label);
  if (b.dims->size() > 1) labels.push_back(b.dims->back().label);
  return {labels};
}

Results einsum(const RuleCall& call) {
  std::string equation = call.text("equation");
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos) {
    call.fail(fmt::format("its rule reads equations with '->' and without '...', not '{}'", equation));
  }
  const std::vector<const TensorRecord*> tensors = call.tensors("tensors");
  std::map<char, std::vector<Candidate>> letters;
  std::size_t tensor = 0, dim = 0;
  for (const char letter : equation.substr(0, arrow)) {
    if (letter == ',') {
      ++tensor, dim = 0;
    } else {
      letters[letter].push_back({tensors.at(tensor)->dims.at(dim++).label, fmt::format("tensor {}", tensor)});
    }
  }
  std::map<char, std::optional<Expression>> labels;
  for (const auto& [letter, candidates] : letters) {
    labels[letter] = call.agree(candidates, fmt::format("'{}'", letter));
  }
  Labels result;
  for (const char letter : equation.substr(arrow + 2)) result.push_back(labels[letter]);
  return {result};
}

Results attention(const RuleCall& call) {
  const std::string_view names = call.parameter();
  const std::size_t blank = names.find(' ');
  Labels labels = labels_of(call.tensor(names.substr(0, blank)));
  labels.back() = call.tensor(names.substr(blank + 1)).back().label;
  return {labels};
}

Results flash_attention(const RuleCall& call) {
  const Dims& q = call.tensor("q");
  Results results;
  for (std::size_t i = 0; i < call.record().outputs.size(); ++i) {
    const Dims& result = call.output(i);
    const auto is = [&](std::initializer_list<std::size_t> dims) {
      return result.size() == dims.size() &&
             std::equal(result.begin(), result.end(), dims.begin(),
                        [&](const Dim& a, std::size_t b) { return a.size == q[b].size; });
    };
    Labels& labels = results.emplace_back(result.size());
    if (is({0, 1, 2})) {
      labels = labels_of(q);
    } else if (is({1, 0})) {  // sums of exponentials by head and token
      labels = {q[1].label, q[0].label};
    } else {  // work space of splits, whose number the kernel chooses, and empty ones: nobody reads them
      for (std::size_t dim = 0; dim < result.size(); ++dim) labels[dim] = Expression(result[dim].size);
    }
  }
  return results;
}

Results reduction(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  const Dims dims = call.integers("dim");
  const bool keep = call.flag("keepdim");
  std::vector<bool> reduced(self.size(), dims.empty());
  for (const Dim& dim : dims)
    if (!self.empty()) reduced[call.place(dim.size, self.size())] = true;
  Labels labels;
  for (std::size_t i = 0; i < self.size(); ++i) {
    if (!reduced[i]) {
      labels.push_back(self[i].label);
    } else if (keep) {
      labels.emplace_back(Expression(1));
    }
  }
  return Results(call.record().outputs.size(), labels);
}

Results normalised(const RuleCall& call) {
  const Dims& input = call.tensor("input");
  Results results;
  for (const TensorRecord& output : call.record().outputs) {
    Labels& labels = results.emplace_back(labels_of(input));
    for (std::size_t i = 0; i < labels.size() && i < output.dims.size(); ++i)
      if (output.dims[i].size == 1 && input[i].size != 1) labels[i] = Expression(1);
  }
  return results;
}

Results scaled_last(const RuleCall& call) {
  const auto [tensor, count] = call.tensor_and_count();
  Labels labels = labels_of(*tensor);
  labels.back() = labels.back() && count ? std::optional(*labels.back() * *count) : std::nullopt;
  return {labels};
}

}  // namespace dooly::profiling::rules
