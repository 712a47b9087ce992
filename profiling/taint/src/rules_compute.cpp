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

/// What is added to a product, or broadcast to it, must have its dimensions.
void agree_with_bias(const RuleCall& call, const Dims& bias, Labels& labels) {
  for (std::size_t i = 0; i < std::min(bias.size(), labels.size()); ++i) {
    const Dim& own = bias[bias.size() - 1 - i];
    const std::size_t at = labels.size() - 1 - i;
    if (own.size != call.output().at(at).size) continue;
    labels[at] = call.agree({{labels[at], "product"}, {own.label, "bias"}}, fmt::format("dimension {}", at));
  }
}

}  // namespace

Results elementwise(const RuleCall& call) {
  std::vector<Operand> operands = operands_of(call);
  if (!call.parameter().empty()) {  // these alone
    std::erase_if(operands, [&](const Operand& one) { return call.parameter().find(one.name) == std::string::npos; });
  }
  Results results;
  for (const TensorRecord& output : call.record().outputs) results.push_back(broadcast(call, operands, output.dims));
  return results;
}

Results linear(const RuleCall& call) {
  const Operand x{"input", &call.tensor("input|x")}, weight{"weight", &call.tensor("weight")};
  contract(call, x, x.dims->size() - 1, weight, weight.dims->size() - 1);
  Labels labels = labels_of(*x.dims);
  labels.pop_back();
  if (weight.dims->size() == 2) labels.push_back(weight.dims->front().label);
  if (const TensorRecord* bias = call.find_tensor("bias")) agree_with_bias(call, bias->dims, labels);
  return {labels};
}

Results matmul(const RuleCall& call) {
  const Operand a{"first", &call.tensor("batch1|mat1|mat|self")},
      b{"second", &call.tensor("batch2|mat2|vec2|other|tensor|vec")};
  const std::size_t rows = b.dims->size() < 2 ? 0 : b.dims->size() - 2;
  if (a.dims->empty() || b.dims->empty()) call.fail("its rule multiplies no single numbers");
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
  if (call.has("batch1|mat1|mat")) agree_with_bias(call, call.tensor("self"), labels);
  return {labels};
}

Results grouped_matmul(const RuleCall& call) {
  const Operand rows{"self", &call.tensor("self")}, weights{"mat2", &call.tensor("mat2")};
  if (weights.dims->size() != 3) call.fail("its rule takes a matrix for each group");
  contract(call, rows, rows.dims->size() - 1, weights, 1);
  Labels labels = labels_of(*rows.dims);
  labels.back() = weights.dims->back().label;
  return {labels};
}

Results rows_of_both(const RuleCall& call) {
  const std::string_view names = call.parameter();
  const std::size_t blank = names.find(' ');
  const Dims& other = call.tensor(names.substr(blank + 1));
  Labels labels = labels_of(call.tensor(names.substr(0, blank)));
  labels.back() = other.at(other.size() - 2).label;
  return {labels};
}

Results conv1d(const RuleCall& call) {
  const Dims &input = call.tensor("input"), &weight = call.tensor("weight");
  const auto first = [&](std::string_view name, std::int64_t none) {
    const Dims given = call.integers(name);
    return given.empty() ? Dim{none, Expression(none)} : given[0];
  };
  const auto literal = [](const Dim& dim) { return dim.label.value_or(Expression(dim.size)); };  // is meant so
  Labels labels = labels_of(input);
  labels[input.size() - 2] = weight.at(0).label;
  auto& length = labels.back();
  if (call.has("padding") && call.text("padding") == "same") return {labels};
  const auto& kernel = weight.at(2).label;
  if (!length || !kernel) return length.reset(), Results{labels};
  const Expression reach = literal(first("dilation", 1)) * (*kernel - 1) + 1,
                   padded = *length + 2 * literal(first("padding", 0));
  length = Expression::floor_div(padded - reach, literal(first("stride", 1))) + 1;
  return {labels};
}

Results vecdot(const RuleCall& call) {
  const Operand x{"x", &call.tensor("x")}, y{"y", &call.tensor("y")};
  const std::size_t rank = std::max(x.dims->size(), y.dims->size());
  Labels labels;
  for (std::size_t dim = 0; dim < rank; ++dim) {
    std::vector<Candidate> candidates;
    for (const Operand& operand : {x, y}) {
      if (dim + operand.dims->size() < rank) continue;
      const Dim& own = (*operand.dims)[dim + operand.dims->size() - rank];
      candidates.push_back({own.label ? own.label : requested_label(own), operand.name});
    }
    labels.push_back(call.agree(candidates, fmt::format("dimension {} of the operands", dim)));
  }
  labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(call.axis("dim", rank, -1)));
  return {labels};
}

Results outer(const RuleCall& call) { return {{call.tensor("self").at(0).label, call.tensor("vec2").at(0).label}}; }

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
  if (call.record().outputs.size() == 1) return {labels};
  Labels weights = labels;  // of each query for each key
  const Dims& key = call.tensor("key");
  weights.back() = key.at(key.size() - 2).label;
  return {labels, weights};
}

Results expanded_attention(const RuleCall& call) {
  const Dims &q = call.tensor("q"), &kv = call.tensor("kv"), &rope = call.tensor("k_rope");
  Labels labels = labels_of(q);
  const auto &query = q.back().label, &both = kv.back().label, &shared = rope.back().label;
  labels.back() = query && both && shared ? std::optional(*both - (*query - *shared)) : std::nullopt;
  return {labels, {q.at(1).label, q[0].label}};
}

Results rows_of_width(const RuleCall& call) {
  const std::string_view names = call.parameter();
  const std::size_t blank = names.find(' ');
  return {{call.tensor(names.substr(0, blank)).at(0).label, call.tensor(names.substr(blank + 1)).back().label}};
}

Results flash_attention(const RuleCall& call) {
  const Dims& q = call.tensor("q");
  Results results;
  for (std::size_t i = 0; i < call.record().outputs.size(); ++i) {
    const Dims& result = call.output(i);
    Labels& labels = results.emplace_back(result.size());
    if (call.record().output_names[i] == "q") {
      labels = labels_of(q);
    } else if (i == 0 || call.record().output_names[i] == "out") {
      labels = labels_of(q);
      labels.back() = call.tensor("v").back().label;
    } else if (i == 1 && result.size() == 2) {  // sums of exponentials by head and token
      labels = {q.at(1).label, q[0].label};
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
  const Labels input = labels_of(call.tensor("input"));
  const std::size_t normalised = call.integers("normalized_shape").size();
  Results results{input};
  for (std::size_t i = 1; i < call.record().outputs.size(); ++i) {
    Labels& labels = results.emplace_back(input);
    std::fill_n(labels.rbegin(), std::min(normalised, labels.size()), Expression(1));
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
