// What a store's files and folders can do to its verbs: exit statuses and messages.
#include "dooly_process.hpp"
#include "removed_on_signal.hpp"
#include "whole_output.hpp"

#include "oracle_store/portable_file.hpp"
#include "oracle_store/signature_store.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

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
  EXPECT_TRUE(has(exported.err, "out.jsonl.zst: cannot write: File too large")) << exported.err;
  EXPECT_FALSE(fs::exists(out));
  EXPECT_TRUE(unfinished_files(scratch_.path()).empty());
  const ProcessResult imported = dooly({"store", "import", scratch_.name("s"), file_}, {.file_size = 100'000});
  EXPECT_EQ(imported.code, 3);
  EXPECT_TRUE(has(imported.err, "File too large")) << imported.err;
}

TEST_F(StoreTrouble, AFullDiskLeavesNoMergedStoreThatStopsTheNextAttempt) {
  const std::vector<std::string> merge{"store", "merge", scratch_.name("s"), file_};
  for (int there = 0; there < 2; ++there) {
    if (there == 1) fs::create_directory(scratch_ / "s");
    const ProcessResult full = dooly(merge, {.file_size = 100'000});
    EXPECT_EQ(full.code, 3);
    EXPECT_TRUE(has(full.err, scratch_.name("s") + ": nothing was written: ")) << full.err;
    EXPECT_TRUE(has(full.err, "File too large")) << full.err;
    EXPECT_EQ(fs::exists(scratch_ / "s"), there == 1);
    EXPECT_TRUE(unfinished_files(scratch_.path()).empty());
  }
  const ProcessResult again = dooly(merge);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(dooly({"store", "verify", scratch_.name("s")}).out, scratch_.name("s") + ": sound\n");
  EXPECT_EQ(dooly({"store", "diff", scratch_.name("s"), file_, "--exit-code"}).code, 0);
}

TEST_F(StoreTrouble, AFullDiskLeavesNoProfileThatStopsTheNextAttempt) {
  const std::string out = scratch_.name("profile");
  const std::vector<std::string> words{"store",    "export", "h200-vllm", out,
                                       "--format", "vidur",  "--model",   "meta-llama/Llama-3.1-8B"};
  const ProcessResult full = dooly(words, {.file_size = 1'000});
  EXPECT_EQ(full.code, 3);
  EXPECT_EQ(full.err.rfind(out + ": nothing was written: ", 0), 0u) << full.err;
  EXPECT_FALSE(fs::exists(out));
  EXPECT_TRUE(unfinished_files(scratch_.path()).empty());
  EXPECT_EQ(dooly(words).code, 0);
}

TEST_F(StoreTrouble, AnImportThatFilledTheDiskGoesOnWithTheSameCommand) {
  const std::vector<std::string> import{"store", "import", scratch_.name("s"), file_};
  EXPECT_EQ(dooly(import, {.file_size = 100'000}).code, 3);
  const ProcessResult again = dooly(import);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(dooly({"store", "diff", scratch_.name("s"), file_, "--exit-code"}).code, 0);
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

TEST_F(StoreTrouble, AnEmptyFileThatIsThereIsReplacedOnlyByForce) {
  const std::string empty = scratch_.file("empty.jsonl.zst", "");
  for (const std::vector<std::string>& words : {std::vector<std::string>{"store", "merge", empty, file_},
                                                {"store", "export", file_, empty},
                                                {"plan", "meta-llama/Llama-3.1-8B", "--out", empty}}) {
    const ProcessResult refused = dooly(words);
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(has(refused.err, "empty.jsonl.zst: exists already; --force replaces it")) << refused.err;
    EXPECT_EQ(fs::file_size(empty), 0u);
  }
  EXPECT_EQ(dooly({"store", "merge", empty, file_, "--force"}).code, 0);
  EXPECT_EQ(dooly({"store", "diff", empty, file_, "--exit-code"}).code, 0);
}

TEST_F(StoreTrouble, WhatHasNoEndIsNamedWithItsLimit) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"plan", "/dev/zero"},
        {"predict", "--plan", "/dev/zero", "--store", file_, "--batch", "1x1@1"},
        {"validate", "/dev/zero"}}) {
    const ProcessResult result = dooly(words);
    EXPECT_EQ(result.code, 2) << words[0];
    EXPECT_TRUE(has(result.err, "/dev/zero: larger than 64 MiB, the most that is read")) << result.err;
  }
  const ProcessResult verified = dooly({"store", "verify", "/dev/zero"});
  EXPECT_EQ(verified.code, 4);
  EXPECT_TRUE(has(verified.out, "a line longer than 64 MiB")) << verified.out << verified.err;
}

TEST_F(StoreTrouble, APipeThatNobodyWritesToIsNotWaitedFor) {
  const std::string pipe = scratch_.name("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::vector<std::string>& words : {std::vector<std::string>{"plan", pipe},
                                                {"store", "ls", pipe},
                                                {"validate", pipe},
                                                {"run", pipe},
                                                {"workload", "stats", pipe},
                                                {"store", "import", scratch_.name("s"), pipe, "--format", "vidur"}})
    EXPECT_EQ(dooly(words).code, 2) << words[0] << words[1];
}

TEST_F(StoreTrouble, APipeIsNoFileToImport) {
  const std::string pipe = scratch_.name("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const ProcessResult imported = dooly({"store", "import", scratch_.name("s"), pipe});
  EXPECT_EQ(imported.code, 2);
  EXPECT_EQ(imported.err, pipe + ": is a pipe; what is imported is read more than once: give a file\n");
  const ProcessResult listed = dooly({"store", "ls", pipe});
  EXPECT_EQ(listed.code, 2);
  EXPECT_EQ(listed.err, pipe + ": is a pipe; a store is read more than once: give a file\n");
}

TEST_F(StoreTrouble, WhatAKilledWriterLeftGoesAndAFileOfTheUsersStays) {
  const std::string out = scratch_.name("out.jsonl.zst");
  scratch_.file(".out.jsonl.zst.1-0123456789abcdef.dooly-tmp", std::string(1'000'000, 'x'));
  scratch_.file("out.jsonl.zst.tmp", "mine");
  EXPECT_EQ(dooly({"store", "export", file_, out}).code, 0);
  EXPECT_TRUE(unfinished_files(scratch_.path()).empty());
  EXPECT_EQ(read_file(out + ".tmp"), "mine");
  EXPECT_EQ(dooly({"store", "diff", out, file_, "--exit-code"}).code, 0);
}

/// In a child that waits for a signal with the guard set; returns how it ended.
int ended_by(const fs::path& file, int signal, bool ignores) {
  int ready[2];
  if (::pipe(ready) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    if (ignores) ::signal(signal, SIG_IGN);
    const RemovedOnSignal guard(file);
    if (::write(ready[1], "x", 1) != 1) ::_exit(9);
    ::usleep(ignores ? 200'000 : 30'000'000);
    ::_exit(7);
  }
  char byte = 0;
  while (::read(ready[0], &byte, 1) < 0) {
  }
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ready[0]), ::close(ready[1]);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

TEST_F(StoreTrouble, AStoppedWritersTemporaryFileIsRemovedAndTheSignalStillEndsIt) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const fs::path file = scratch_.file("half.tmp", "x");
    EXPECT_EQ(ended_by(file, signal, false), signal);
    EXPECT_FALSE(fs::exists(file)) << signal;
  }
  const fs::path kept = scratch_.file("half.tmp", "x");
  EXPECT_EQ(ended_by(kept, SIGINT, true), -7) << "an ignored signal stays ignored";
  EXPECT_TRUE(fs::exists(kept));
}

/// In a child that fills `out` until it is told not to go on; returns how it ended.
int directory_ended_by(const fs::path& out, int signal) {
  int ready[2];
  if (::pipe(ready) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    write_whole_directory(out, [&](const fs::path& directory, const GoOn& go_on) {
      fs::create_directory(directory / "sub");
      std::ofstream(directory / "sub" / "half") << "x";
      if (::write(ready[1], "x", 1) != 1) ::_exit(9);
      for (int i = 0; i < 30'000; ++i) {
        go_on();
        ::usleep(1000);
      }
    });
    ::_exit(7);
  }
  char byte = 0;
  while (::read(ready[0], &byte, 1) < 0) {
  }
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ready[0]), ::close(ready[1]);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

TEST_F(StoreTrouble, AStoppedWritersDirectoryIsRemovedAndTheSignalStillEndsIt) {
  const fs::path there = scratch_ / "there";
  fs::create_directory(there);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const fs::path out = scratch_ / "new-store";
    EXPECT_EQ(directory_ended_by(out, signal), signal);
    EXPECT_FALSE(fs::exists(out)) << signal;
    EXPECT_EQ(directory_ended_by(there, signal), signal);
    EXPECT_TRUE(fs::is_directory(there) && fs::is_empty(there)) << "filled in place, and emptied again";
    EXPECT_TRUE(unfinished_files(scratch_.path()).empty()) << signal;
  }
}

TEST_F(StoreTrouble, FitsAreKeptUntilSamplesChange) {
  const std::string store = scratch_.name("s");
  ASSERT_EQ(dooly({"store", "import", store, file_}).code, 0);
  EXPECT_TRUE(has(dooly({"store", "fit", store}).err, "0 fits computed, 1 were up to date")) << "made by the import";
  const std::string shown = dooly({"store", "show", store, "operator"}).out;
  EXPECT_TRUE(has(shown, "% mean error of points left out (k-fold)")) << shown.substr(shown.size() - 200);
  EXPECT_EQ(shown, dooly({"store", "show", file_, "operator"}).out) << "as computed on demand";
  store::SignatureStore opened = store::SignatureStore::open(store, store::SignatureStore::Mode::kWrite);
  const std::string environment = opened.environments().front().first;
  const oracle::Signature signature = opened.keys().front().first;
  store::StoredFit other = *opened.fit(environment, signature);
  other.fold_error = 0.4242;
  opened.put_fit(environment, signature, other);
  opened.close();
  EXPECT_TRUE(has(dooly({"store", "show", store, "operator"}).out, "42.4 % mean error")) << "the kept one is shown";
  oracle::Sample sample;
  sample.point = {1'000'000};
  sample.median_s = 1;
  store::SignatureStore::open(store, store::SignatureStore::Mode::kWrite).put(environment, signature, sample);
  EXPECT_FALSE(has(dooly({"store", "show", store, "operator"}).out, "42.4 %")) << "out of date";
  const std::string again = dooly({"store", "fit", store}).err;
  EXPECT_TRUE(has(again, "1 fits computed, 0 were up to date")) << again;
  EXPECT_TRUE(has(again, " of 1 miss a point left out by more than 3 % on average (median of all ")) << again;
  EXPECT_EQ(dooly({"store", "verify", store}).code, 0);
  EXPECT_EQ(dooly({"store", "fit", file_}).code, 2);
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
    EXPECT_TRUE(has(result.err, "f.jsonl: its first line must be this and a line feed")) << result.err;
  }
}

}  // namespace
}  // namespace dooly::cli
