#include "operator_call.hpp"
#include "operator_cases.hpp"
#include "profiling_taint/rule_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace dooly::profiling {
namespace {

// All different, and all others the second time.
const Binding kFirst = {{"T", 7},
                        {"R", 3},
                        {"N", 6},
                        {"K", 2},
                        {"D", 5},
                        {"I", 11},
                        {"E", 4},
                        {"B", 8},
                        {"S", 16},
                        {"num_experts_per_token", 3},
                        {"tensor_parallel", 2}};
const Binding kSecond = {{"T", 13},
                         {"R", 5},
                         {"N", 10},
                         {"K", 3},
                         {"D", 9},
                         {"I", 17},
                         {"E", 8},
                         {"B", 12},
                         {"S", 32},
                         {"num_experts_per_token", 6},
                         {"tensor_parallel", 4}};

/// The labels of each binding must give the sizes that came out at the other.
void compare(const OperatorCase& one, const Outcome& first, const Outcome& second) {
  ASSERT_EQ(first.sizes.size(), second.sizes.size());
  int unlabelled = 0;
  for (std::size_t i = 0; i < first.sizes.size(); ++i) {
    ASSERT_EQ(first.labels[i].size(), second.labels[i].size());
    for (std::size_t dim = 0; dim < first.labels[i].size(); ++dim) {
      const auto &a = first.labels[i][dim], &b = second.labels[i][dim];
      ASSERT_EQ(a.has_value(), b.has_value()) << "dimension " << dim << " of result " << i;
      if (!a) {
        ++unlabelled;
        continue;
      }
      EXPECT_EQ(a->evaluate(kSecond), second.sizes[i][dim]) << a->text() << ", dimension " << dim << " of result " << i;
      EXPECT_EQ(b->evaluate(kFirst), first.sizes[i][dim]) << b->text() << ", dimension " << dim << " of result " << i;
    }
  }
  EXPECT_EQ(unlabelled, one.unlabelled);
}

std::vector<OperatorCase> all_cases() {
  std::vector<OperatorCase> all = aten_cases();
  all.insert(all.end(), library_cases().begin(), library_cases().end());
  return all;
}

TEST(Operators, LabelsOfOneBindingGiveTheSizesOfAnother) {
  for (const OperatorCase& one : all_cases()) {
    SCOPED_TRACE(fmt::format("{} {}", one.schema, one.arguments));
    try {
      compare(one, run_operator(one, kFirst), run_operator(one, kSecond));
    } catch (const std::exception& error) {
      ADD_FAILURE() << std::string(error.what()).substr(0, 400);
    }
  }
}

/// As an operator that writes its operand can be run: the result has the operand's sizes.
bool fits_in_place(const OperatorCase& one) {
  const std::string arguments(one.arguments);
  const std::size_t self = arguments.find("self=[");
  if (self == std::string::npos) return false;
  const Outcome result = run_operator(one, kFirst);
  const std::string operand = arguments.substr(self, arguments.find(' ', self) - self);
  return result.sizes == run_operator({"clone", operand.c_str()}, kFirst).sizes;
}

TEST(Operators, VariantsThatWriteAreLabelledAsTheyAre) {
  int in_place = 0, into = 0;
  for (const OperatorCase& one : aten_cases()) {
    SCOPED_TRACE(fmt::format("{} {}", one.schema, one.arguments));
    try {
      const auto first = run_into(one, kFirst), second = run_into(one, kSecond);
      if (first) compare(one, *first, *second), ++into;
      if (!fits_in_place(one)) continue;
      const auto a = run_in_place(one, kFirst), b = run_in_place(one, kSecond);
      if (a) compare(one, *a, *b), ++in_place;
    } catch (const std::exception& error) {
      ADD_FAILURE() << std::string(error.what()).substr(0, 400);
    }
  }
  EXPECT_GE(in_place, 63);  // as LibTorch 2.11 has them
  EXPECT_GE(into, 220);
}

std::vector<std::string_view> names_of(const RuleRow& row) {
  std::vector<std::string_view> names;
  std::string_view rest = row.operators;
  while (!rest.empty()) {
    names.push_back(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), names.back().size() + 1));
  }
  return names;
}

TEST(Operators, EveryOneOfTheTableHasACase) {
  std::set<std::string> tested, listed;
  for (const OperatorCase& one : all_cases()) {
    const std::string name = operator_name(one), plain = name.substr(0, name.find('.'));
    tested.insert({name, plain});
    if (plain.ends_with('_') && !plain.ends_with("__")) tested.insert(plain.substr(0, plain.size() - 1));
  }
  for (const RuleRow& row : rule_table()) {
    for (const std::string_view written : names_of(row)) {
      const bool of_a_library = written.find("::") != std::string_view::npos;
      const std::string name = of_a_library ? std::string(written) : fmt::format("aten::{}", written);
      EXPECT_EQ(tested.count(name), 1U) << name << " has no case";
      EXPECT_TRUE(listed.insert(name).second) << name << " has two rows";
    }
  }
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t'; });
  return text;
}

/// Contents of the libraries in a folder and below it.
std::string libraries_in(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".so") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  return without_blanks(std::move(all));
}

TEST(Operators, SchemasOfStandInsAreThoseOfTheLibraries) {
  const char* folder = std::getenv("DOOLY_VLLM_KERNELS");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "DOOLY_VLLM_KERNELS names no folder of vLLM's libraries";
  }
  const std::string libraries = libraries_in(folder);
  for (const OperatorCase& one : library_cases()) {
    const std::string schema = without_blanks(one.schema);
    if (!schema.starts_with('_') ||
        (schema.starts_with("_vllm_fa2") && libraries.find("varlen_fwd(") == std::string::npos))
      continue;  // an operator of ours; FlashAttention 2, which need not be there
    EXPECT_NE(libraries.find(schema.substr(schema.find("::") + 2)), std::string::npos) << schema;
  }
}

TEST(Operators, ALabelledNumberOfStepsIsThatOfLinspace) {  // its schema takes plain integers alone
  const Dim steps{6, Expression::symbol("N", Origin::kModel)}, end{7, Expression::symbol("T", Origin::kRequest)};
  const OperatorRecord record{"aten::linspace",
                              "",
                              {{"start", Dim{0, {}}}, {"end", end}, {"steps", steps}},
                              {TensorRecord{{{6, {}}}, "Float", true}},
                              {""}};
  EXPECT_EQ(label_outputs(record, kFirst), std::vector<Labels>{{steps.label}});
}

}  // namespace
}  // namespace dooly::profiling
