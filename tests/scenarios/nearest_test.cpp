#include "scenarios/nearest.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dooly::scenario {
namespace {

using Words = std::vector<std::string_view>;

TEST(Nearest, KnowsTyposAndLeavesStrangersAlone) {
  EXPECT_EQ(nearest("replcas", Words{"replicas", "router"}), "replicas");
  EXPECT_EQ(nearest("max_num_seq", Words{"max_num_seqs", "max_model_len"}), "max_num_seqs");
  EXPECT_EQ(nearest("colour", Words{"replicas", "router"}), "");
  EXPECT_EQ(nearest("", Words{"replicas"}), "");
}

TEST(Nearest, CaseDoesNotMatter) {
  EXPECT_EQ(nearest("h200-sxm", Words{"H100-SXM", "H200-SXM"}), "H200-SXM");
  EXPECT_EQ(nearest("POISON", Words{"gamma", "poisson"}), "poisson");
}

TEST(Nearest, ABeginningGoesBeforeAMisspelling) {
  EXPECT_EQ(nearest("H200", Words{"H20", "H100-SXM", "H200-SXM"}), "H200-SXM");
  EXPECT_EQ(nearest("vllm", Words{"static", "vllm-v1"}), "vllm-v1");
  EXPECT_EQ(nearest("least", Words{"least_requests", "least_tokens"}), "least_tokens") << "the shortest";
}

TEST(Nearest, EndsAndMiddlesOfNames) {
  const Words models{"meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B"};
  EXPECT_EQ(nearest("Llama-3.1-8B", models), "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(nearest("qwen3", models), "Qwen/Qwen3-8B");
}

TEST(Nearest, ANameWithSomethingAdded) { EXPECT_EQ(nearest("vllm-v1-default", Words{"static", "vllm-v1"}), "vllm-v1"); }

TEST(Nearest, TwoLettersAreNoPart) { EXPECT_EQ(nearest("st", Words{"static"}), ""); }

}  // namespace
}  // namespace dooly::scenario
