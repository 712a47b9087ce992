#include "scenarios/document.hpp"

#include <gtest/gtest.h>

namespace dooly::scenario {
namespace {

std::string refusal(std::string_view text) {
  std::vector<Problem> problems;
  try {
    parse_yaml(text, 0, problems);
  } catch (const Problem& problem) {
    problems.push_back(problem);
  }
  if (problems.empty()) return "";
  const Problem& first = problems.front();
  return std::to_string(first.mark.line) + ":" + std::to_string(first.mark.column) + ": " +
         (first.path.empty() ? "" : first.path + ": ") + first.what;
}

TEST(Document, MarksCountFromOne) {
  std::vector<Problem> problems;
  const Node root = parse_yaml("a: 1\nb:\n  - {c: 2}\n", 3, problems);
  const Mark mark = root.find("b")->items[0].find("c")->mark;
  EXPECT_EQ(mark.source, 3u);
  EXPECT_EQ(mark.line, 3);
  EXPECT_EQ(mark.column, 9);
}

TEST(Document, QuotedAndPlainScalarsDiffer) {
  std::vector<Problem> problems;
  const Node root = parse_yaml("{a: yes, b: 'yes', c: \"no\", d: ~}", 0, problems);
  EXPECT_FALSE(root.find("a")->quoted);
  EXPECT_TRUE(root.find("b")->quoted);
  EXPECT_TRUE(root.find("c")->quoted);
  EXPECT_EQ(root.find("d")->kind, Node::Kind::kNull);
}

TEST(Document, DuplicateKeysAreFoundWithTheFirstsLine) {
  EXPECT_EQ(refusal("a: 1\nb: {c: 1, c: 2}\n"), "2:11: b.c: key given twice, first on line 2");
}

TEST(Document, RefusesWhatItDoesNotSupport) {
  EXPECT_EQ(refusal("a: &x 1\n"), "1:4: a: anchors (&name) are not supported; write the value out");
  EXPECT_EQ(refusal("a: 1\n<<: {b: 1}\n"), "2:1: merge keys (<<) are not supported; pools have `like`");
  EXPECT_EQ(refusal("a: !!int 1\n"), "1:4: a: tags are not supported, got tag:yaml.org,2002:int");
  EXPECT_EQ(refusal("{[a]: 1}\n"), "1:2: a key must be a plain word (or a bracket is not closed)");
  EXPECT_EQ(refusal("a: 1\n---\nb: 1\n"),
            "1:1: holds several YAML documents, or text after the end of one; a scenario is one document");
  EXPECT_EQ(refusal(""), "1:1: is empty");
  EXPECT_EQ(refusal("# nothing\n"), "1:1: is empty");
}

TEST(Document, SyntaxErrorsNameThePlace) {
  EXPECT_EQ(refusal("a: {b: 1\n"), "2:1: not valid YAML: end of map flow not found");
  EXPECT_EQ(refusal("a: 'x\n"), "1:4: a: not valid YAML: quote without an end");
  EXPECT_EQ(refusal("a: \"x\\\"\n"), "1:4: a: not valid YAML: quote without an end");
  EXPECT_EQ(refusal("a: 'it''s'\nb: |\n  'x\nc: \"\\\"\"\n"), "");
}

TEST(Document, BinaryIsNotYaml) {
  EXPECT_EQ(refusal(std::string_view("a: \0", 4)), "1:4: control character 0 (is this a text file in UTF-8?)");
  EXPECT_EQ(refusal("a: ok\nb: \xff\xfe"), "2:4: byte 255 is not UTF-8");
  EXPECT_EQ(refusal("a: \xc3\xa9\nb: \xc3"), "2:4: byte 195 is not UTF-8");
  EXPECT_EQ(refusal("a: 1\n\x1b[0m"), "2:1: control character 27 (is this a text file in UTF-8?)");
}

TEST(Document, DepthAndSizeAreLimited) {
  EXPECT_EQ(refusal(std::string(40, '[') + std::string(40, ']')), "1:33: nested deeper than 32 levels");
  EXPECT_NE(refusal(std::string(100'000, '[')), "");
  EXPECT_EQ(refusal(std::string(5u << 20, ' ')), "1:1: larger than 4 MiB, which no scenario is");
  std::string many = "[";
  for (int i = 0; i < 200'001; ++i) many += "1,";
  EXPECT_NE(refusal(many + "]").find("more than 200000 values"), std::string::npos);
}

TEST(Document, WindowsLineEndsAndByteOrderMark) {
  std::vector<Problem> problems;
  const Node root = parse_yaml(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: two\r\n",
      0, problems);
  EXPECT_EQ(root.find("b")->text, "two");
}

}  // namespace
}  // namespace dooly::scenario
