#include "rules.hpp"

#include <fmt/format.h>

namespace dooly::profiling::rules {

Results requested_sizes(const RuleCall& call) {
  Labels labels;
  const std::string_view named = call.parameter();
  for (const Dim& size : call.integers(named.empty() ? "size" : named)) labels.push_back(requested_label(size));
  return {labels};
}

Results like_argument(const RuleCall& call) {
  const Labels labels = labels_of(call.tensor(call.parameter()));
  return Results(call.record().outputs.size(), labels);
}

Results counted(const RuleCall& call) {
  // A bound that is no integer leaves the count without a label.
  const auto given = [&](std::string_view name, std::int64_t none) {
    return call.has(name) ? call.integer(name) : std::optional<Dim>({none, Expression(none)});
  };
  const auto start = given("start", 0), end = given("end", 0), step = given("step", 1);
  if (!start || !end || !step || step->size == 0) return {Labels(1)};
  const auto from = requested_label(*start), to = requested_label(*end);
  if (!from || !to) return {Labels(1)};
  Expression length = *to - *from, by = step->label.value_or(Expression(step->size));  // a literal step is meant so
  if (step->size < 0) length = 0 - length, by = 0 - by;
  const bool with_end = call.parameter() == "with its end";
  return {{with_end ? Expression::floor_div(length, by) + 1 : Expression::ceil_div(length, by)}};
}

Results rows_and_columns(const RuleCall& call) {
  const Dim rows = call.integer("n").value_or(call.output().at(0));
  return {{requested_label(rows), requested_label(call.integer("m").value_or(rows))}};
}

Results one_hot(const RuleCall& call) {
  Labels labels = labels_of(call.tensor("self"));
  const auto classes = call.integer("num_classes");  // -1: as many as the data hold
  labels.push_back(classes && classes->size > 0 ? requested_label(*classes) : std::nullopt);
  return {labels};
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
  for (const TensorRecord& output : call.record().outputs) results.emplace_back(output.dims.size());
  return results;
}

Results nonzero(const RuleCall& call) {
  const auto rows = call.integer("size");  // nonzero_static
  const auto columns = Expression(static_cast<std::int64_t>(call.tensor("self").size()));
  return {{rows ? requested_label(*rows) : std::nullopt, columns}};
}

Results unique(const RuleCall& call) {
  const Dims& self = call.tensor("self");
  Labels values(1), inverse = labels_of(self);
  if (call.has("dim")) {
    values = inverse;
    std::optional<Expression>& found = values[call.axis("dim", self.size())];
    inverse = {found};
    found.reset();
  }
  Results results = data_dependent(call);
  results.at(0) = values;
  if (results.size() > 1 && call.flag("return_inverse")) results[1] = inverse;
  return results;
}

}  // namespace dooly::profiling::rules
