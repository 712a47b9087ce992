#include "rules.hpp"

#include <fmt/format.h>

namespace dooly::profiling::rules {

Results requested_sizes(const RuleCall& call) {
  Labels labels;
  for (const Dim& size : call.integers("size")) labels.push_back(requested_label(size));
  return {labels};
}

Results like_argument(const RuleCall& call) {
  const Labels labels = labels_of(call.tensor(call.parameter()));
  return Results(call.record().outputs.size(), labels);
}

Results counted(const RuleCall& call) {
  const Dim start = call.integer("start").value_or(Dim{0, Expression(0)});
  const Dim step = call.integer("step").value_or(Dim{1, Expression(1)});
  const auto end = call.integer("end");
  const auto from = requested_label(start), by = requested_label(step);
  if (!end || !from || !by || step.size < 1) return {{requested_label(call.output().at(0))}};
  const auto to = requested_label(*end);
  if (!to) return {{requested_label(call.output().at(0))}};
  return {{Expression::ceil_div(*to - *from, *by)}};
}

Results scalar(const RuleCall& call) { return Results(call.record().outputs.size()); }

Results keep_written(const RuleCall& call) {
  Results results;
  for (std::size_t i = 0; i < call.record().outputs.size(); ++i) {
    const std::string& name = call.record().output_names[i];
    if (name.empty()) call.fail(fmt::format("result {} is none of the arguments it writes", i));
    results.push_back(labels_of(call.tensor(name)));
  }
  return results;
}

Results data_dependent(const RuleCall& call) {
  Results results;
  for (const TensorRecord& output : call.record().outputs) {
    Labels& labels = results.emplace_back(output.dims.size());
    if (labels.size() == 2) labels[1] = Expression(output.dims[1].size);  // nonzero: one column a dimension
  }
  return results;
}

}  // namespace dooly::profiling::rules
