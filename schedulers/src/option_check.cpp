#include "schedulers/option_check.hpp"

#include "names.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace dooly::schedulers {
namespace {

using sdk::OptionSpec;
using sdk::OptionType;

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string number_text(double value) {
  if (std::abs(value) < 1e15 && value == std::trunc(value)) return std::to_string(static_cast<std::int64_t>(value));
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

bool has_minimum(const OptionSpec& option) { return option.min > -1e300; }
bool has_maximum(const OptionSpec& option) { return option.max < 1e300; }

std::string out_of_range(const OptionSpec& option, double value) {
  if (has_minimum(option) && value < option.min) return "must be at least " + number_text(option.min);
  if (has_maximum(option) && value > option.max) return "must be at most " + number_text(option.max);
  return {};
}

std::vector<std::string_view> allowed_texts(const OptionSpec& option) {
  std::vector<std::string_view> texts;
  std::string_view rest = option.allowed;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    texts.push_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  return texts;
}

bool contains(const std::vector<std::string_view>& texts, std::string_view text) {
  for (const std::string_view candidate : texts) {
    if (candidate == text) return true;
  }
  return false;
}

/// What is wrong with the value, without the value; empty if nothing.
std::string fault(const OptionSpec& option, std::string_view value) {
  switch (option.type) {
    case OptionType::kNumber: {
      const auto number = parsed<double>(value);
      return number && std::isfinite(*number) ? out_of_range(option, *number) : "must be a number";
    }
    case OptionType::kInteger: {
      const auto number = parsed<std::int64_t>(value);
      return number ? out_of_range(option, static_cast<double>(*number)) : "must be an integer";
    }
    case OptionType::kBoolean: return value == "true" || value == "false" ? "" : "must be true or false";
    case OptionType::kText: {
      const auto allowed = allowed_texts(option);
      return allowed.empty() || contains(allowed, value) ? "" : "unknown value" + suggestion(value, allowed);
    }
  }
  return "has a type that this program does not know";
}

std::string value_problem(const OptionSpec& option, std::string_view value) {
  std::string problem = fault(option, value);
  if (problem.empty()) return problem;
  problem += ", got " + std::string(value);
  const auto allowed = allowed_texts(option);
  if (!allowed.empty()) problem += "; allowed: " + listed(allowed);
  return problem;
}

std::string unknown_problem(std::span<const OptionSpec> schema, std::string_view name) {
  if (schema.empty()) return "unknown option; there are none";
  const auto known = names_of(schema);
  return "unknown option" + suggestion(name, known) + "; allowed: " + listed(known);
}

const OptionSpec* spec_named(std::span<const OptionSpec> schema, std::string_view name) {
  for (const OptionSpec& option : schema) {
    if (name == option.name) return &option;
  }
  return nullptr;
}

const char* type_text(OptionType type) {
  switch (type) {
    case OptionType::kNumber: return "number";
    case OptionType::kInteger: return "integer";
    case OptionType::kBoolean: return "true or false";
    case OptionType::kText: return "text";
  }
  return "?";
}

}  // namespace

std::vector<OptionProblem> check_options(std::span<const OptionSpec> schema, const GivenOptions& given) {
  std::vector<OptionProblem> problems;
  for (const auto& [name, value] : given) {
    const OptionSpec* const option = spec_named(schema, name);
    std::string problem = option == nullptr ? unknown_problem(schema, name) : value_problem(*option, value);
    if (!problem.empty()) problems.push_back({name, std::move(problem)});
  }
  for (const OptionSpec& option : schema) {
    if (*option.fallback == '\0' && !given.contains(option.name)) {
      problems.push_back({option.name, "is required (" + describe(option) + ")"});
    }
  }
  return problems;
}

sdk::Options complete_options(std::span<const OptionSpec> schema, const GivenOptions& given) {
  std::vector<std::pair<std::string, std::string>> values;
  values.reserve(schema.size());
  for (const OptionSpec& option : schema) {
    const auto found = given.find(option.name);
    values.emplace_back(option.name, found == given.end() ? option.fallback : found->second);
  }
  return sdk::Options(std::move(values));
}

std::string describe(const OptionSpec& option) {
  std::string text = std::string(option.name) + ": " + type_text(option.type);
  if (has_minimum(option)) text += ", at least " + number_text(option.min);
  if (has_maximum(option)) text += ", at most " + number_text(option.max);
  if (const auto allowed = allowed_texts(option); !allowed.empty()) text += ", one of " + listed(allowed);
  text += *option.fallback == '\0' ? ", required" : ", default " + std::string(option.fallback);
  if (*option.help != '\0') text += ": " + std::string(option.help);
  return text;
}

}  // namespace dooly::schedulers
