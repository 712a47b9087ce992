#include "text.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

const std::vector<std::string> kVerbs{"run", "report", "check"};

TEST(NearestWord, CountsSwappedLettersOnce) { EXPECT_EQ(nearest("rnu", kVerbs), "run"); }
TEST(NearestWord, DashesOfAnOptionAreNoLetters) {
  const std::vector<std::string> options{"--out", "--set"};
  EXPECT_EQ(nearest("--ou", options), "--out");
  EXPECT_EQ(nearest("--xy", options), "");
}
TEST(NearestWord, IsNoneIfNothingIsNear) {
  EXPECT_EQ(nearest("simulate", kVerbs), "");
  EXPECT_EQ(nearest("", kVerbs), "");
  EXPECT_EQ(nearest("x", kVerbs), "");
}

TEST(RefusedWord, ListsWhatIsAllowed) {
  EXPECT_EQ(refused_word("unknown verb", "chek", kVerbs),
            "unknown verb, got 'chek'; did you mean 'check'; allowed: run, report, check");
}

TEST(Table, AlignsAllButTheLastColumn) {
  EXPECT_EQ(table({{"a", "bb", "c"}, {"aaa", "b", "long"}, {"x"}}, 1), " a    bb  c\n aaa  b   long\n x\n");
}

TEST(Wrapped, BreaksAtSpaces) {
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("unbreakable", 4, 2), "unbreakable");
}

TEST(WithCommas, SeparatesThousands) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'000), "1,000");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace dooly::cli
