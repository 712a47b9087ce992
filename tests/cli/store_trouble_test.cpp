// What a store's files and folders can do to its verbs: exit statuses and messages.
#include "dooly_process.hpp"

#include "oracle_store/portable_file.hpp"

#include <gtest/gtest.h>

namespace dooly::cli {
namespace {

namespace fs = std::filesystem;

class StoreTrouble : public testing::Test {
 protected:
  Scratch scratch_;
  std::string file_ = scratch_.name("a.jsonl.zst");
  void SetUp() override {
    oracle::Environment environment;
    environment.gpu = "H200-SXM";
    oracle::OperatorKey key;
    key.kind = "linear";
    key.dtypes = {"bfloat16", "bfloat16", "bfloat16"};
    key.dims = {1024, 4096};
    key.request_dims = {"m"};
    store::PortableSink sink(file_, store::PortableSink::Sync::kAtFinish);
    sink.environment(environment);
    for (std::uint64_t tokens = 1; tokens <= kPoints; ++tokens) {
      oracle::Sample sample;
      sample.point = {tokens};
      sample.median_s = 1e-6 * double(tokens * tokens % 977 + 1);
      sink.sample(key, sample);
    }
    sink.finish();
  }
  static constexpr std::uint64_t kPoints = 5000;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(StoreTrouble, AFullDiskIsStatusThreeAndLeavesNoFile) {
  const std::string out = scratch_.name("out.jsonl.zst");
  const ProcessResult exported = dooly({"store", "export", file_, out}, {.file_size = 1000});
  EXPECT_EQ(exported.code, 3);
  EXPECT_TRUE(has(exported.err, "out.jsonl.zst: cannot be written: File too large")) << exported.err;
  EXPECT_FALSE(fs::exists(out));
  EXPECT_FALSE(fs::exists(out + ".tmp"));
  const ProcessResult imported = dooly({"store", "import", scratch_.name("s"), file_}, {.file_size = 100'000});
  EXPECT_EQ(imported.code, 3);
  EXPECT_TRUE(has(imported.err, "File too large")) << imported.err;
}

TEST_F(StoreTrouble, AnEmptyDirectoryAndAHalfMadeStoreAreFilled) {
  fs::create_directory(scratch_ / "empty");
  const ProcessResult empty = dooly({"store", "import", scratch_.name("empty"), file_});
  EXPECT_EQ(empty.code, 0) << empty.err;
  fs::create_directory(scratch_ / "half");
  scratch_.file("half/LOCK", "");
  scratch_.file("half/MANIFEST-000001", "");
  const ProcessResult half = dooly({"store", "import", scratch_.name("half"), file_});
  EXPECT_EQ(half.code, 0) << half.err;
  EXPECT_EQ(dooly({"store", "diff", scratch_.name("half"), file_, "--exit-code"}).code, 0);
}

TEST_F(StoreTrouble, AForeignDirectoryIsNotFilled) {
  fs::create_directory(scratch_ / "mine");
  scratch_.file("mine/thesis.txt", "x");
  const ProcessResult result = dooly({"store", "import", scratch_.name("mine"), file_});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(has(result.err, "is no store, and holds other files (thesis.txt)")) << result.err;
}

TEST_F(StoreTrouble, APathThatCanNeverDoIsStatusTwo) {
  fs::create_symlink("loop", scratch_ / "loop");
  for (const char* verb : {"ls", "verify", "stat"}) {
    const ProcessResult result = dooly({"store", verb, scratch_.name("loop")});
    EXPECT_EQ(result.code, 2) << verb;
    EXPECT_TRUE(has(result.err, "symbolic links")) << result.err;
  }
}

TEST_F(StoreTrouble, AByteOrderMarkIsToldFromAForeignVersion) {
  const std::string header = R"({"format":"dooly-store","record":"header","version":1})";
  for (const std::string& line : {"\xef\xbb\xbf" + header + "\n", header + "\r\n"}) {
    const ProcessResult result = dooly({"store", "ls", scratch_.file("f.jsonl", line)});
    EXPECT_EQ(result.code, 2);
    EXPECT_TRUE(has(result.err, "f.jsonl: its first line must be these bytes")) << result.err;
  }
}

}  // namespace
}  // namespace dooly::cli
