#include "results/output_directory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "results/errors.hpp"
#include "results/file_sink.hpp"
#include "scratch.hpp"

namespace dooly::results {
namespace {

namespace fs = std::filesystem;

std::string refusal(const fs::path& path, bool force = false) {
  return message_of<NameRefused>([&] { OutputDirectory::claim(path, force); });
}

void publish_run(const fs::path& path, const std::string& summary, bool force = false,
                 const std::string& partial = {}) {
  OutputDirectory directory = OutputDirectory::claim(path, force);
  directory.write("summary.json", summary);
  directory.publish(partial);
}

std::vector<std::string> names(const fs::path& path) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(path)) found.push_back(entry.path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(OutputDirectory, FilesGetTheirNamesWhenPublished) {
  const Scratch scratch;
  const fs::path out = scratch / "a/b";
  OutputDirectory directory = OutputDirectory::claim(out, false);
  directory.write("summary.json", "{}\n");
  FileSink rows(directory.temporary("requests.csv"));
  rows.append("id\n");
  EXPECT_FALSE(fs::exists(out / "summary.json"));
  rows.finish();
  directory.publish();
  EXPECT_EQ(text_of(out / "summary.json"), "{}\n");
  EXPECT_EQ(text_of(out / "requests.csv"), "id\n");
}

TEST(OutputDirectory, LeavesNothingElse) {
  const Scratch scratch;
  publish_run(scratch / "out", "{}");
  EXPECT_EQ(names(scratch / "out"), std::vector<std::string>{"summary.json"});
}

TEST(OutputDirectory, UnpublishedFilesAndTheNewDirectoryGo) {
  const Scratch scratch;
  {
    OutputDirectory directory = OutputDirectory::claim(scratch / "out", false);
    directory.write("summary.json", "{}");
  }
  EXPECT_FALSE(fs::exists(scratch / "out"));
}

TEST(OutputDirectory, ResultsAreNotOverwritten) {
  const Scratch scratch;
  publish_run(scratch / "out", "first");
  EXPECT_EQ(refusal(scratch / "out"),
            (scratch / "out").string() + ": holds results of an earlier run (summary.json); --force replaces them");
  EXPECT_EQ(text_of(scratch / "out/summary.json"), "first");
}

TEST(OutputDirectory, ForceReplacesAllResultsAndNothingElse) {
  const Scratch scratch;
  publish_run(scratch / "out", "first", false, "interrupted");
  std::ofstream(scratch / "out/iterations.csv") << "old";
  std::ofstream(scratch / "out/notes.txt") << "mine";
  publish_run(scratch / "out", "second", true);
  EXPECT_EQ(names(scratch / "out"), (std::vector<std::string>{"notes.txt", "summary.json"}));
  EXPECT_EQ(text_of(scratch / "out/summary.json"), "second");
}

TEST(OutputDirectory, ForceKeepsTheOldResultsUntilTheNewOnesAreThere) {
  const Scratch scratch;
  publish_run(scratch / "out", "first");
  { OutputDirectory::claim(scratch / "out", true).write("summary.json", "second"); }
  EXPECT_EQ(text_of(scratch / "out/summary.json"), "first");
}

TEST(OutputDirectory, OtherFilesDoNotMatter) {
  const Scratch scratch;
  fs::create_directory(scratch / "out");
  std::ofstream(scratch / "out/notes.txt") << "mine";
  std::ofstream(scratch / "out/.requests.csv.tmp") << "mine, too";
  std::ofstream(scratch / "out/.requests.csv.dooly-tmp") << "left by a run that was killed";
  publish_run(scratch / "out", "{}");
  EXPECT_EQ(names(scratch / "out"), (std::vector<std::string>{".requests.csv.tmp", "notes.txt", "summary.json"}));
}

TEST(OutputDirectory, PartialResultsAreMarked) {
  const Scratch scratch;
  publish_run(scratch / "out", "{}", false, "interrupted");
  EXPECT_EQ(text_of(scratch / "out/PARTIAL"), "interrupted\n");
}

TEST(OutputDirectory, AFileIsNoDirectory) {
  const Scratch scratch;
  std::ofstream(scratch / "out") << "mine";
  EXPECT_EQ(refusal(scratch / "out"), (scratch / "out").string() + ": is not a directory");
  EXPECT_NE(refusal(scratch / "out/below").find("cannot create the output directory"), std::string::npos);
}

TEST(OutputDirectory, OneThatCannotBeWrittenIsRefused) {
  EXPECT_NE(refusal("/proc/dooly-results").find("cannot create the output directory"), std::string::npos);
  EXPECT_NE(refusal("/proc").find("cannot write there"), std::string::npos);
  if (::geteuid() == 0) return;  // root may write anywhere
  const Scratch scratch;
  fs::create_directory(scratch / "out");
  fs::permissions(scratch / "out", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_NE(refusal(scratch / "out").find("cannot write there: Permission denied"), std::string::npos);
}

TEST(OutputDirectory, TwoRunsAtOnceAreRefused) {
  const Scratch scratch;
  std::optional<OutputDirectory> first(OutputDirectory::claim(scratch / "out", false));
  EXPECT_EQ(refusal(scratch / "out", true), (scratch / "out").string() + ": another run is writing there");
  first.reset();
  OutputDirectory::claim(scratch / "out", false);
}

TEST(OutputDirectory, AKilledRunLeavesNoLock) {
  const Scratch scratch;
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputDirectory held = OutputDirectory::claim(scratch / "out", false);
    ::_exit(0);  // no destructor runs
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(fs::exists(scratch / "out/.dooly-lock"));
  publish_run(scratch / "out", "{}");
  EXPECT_EQ(names(scratch / "out"), std::vector<std::string>{"summary.json"});
}

TEST(FileSink, AFullDiskIsNamedOnceAtTheEnd) {
  FileSink sink("/dev/full");
  EXPECT_FALSE(sink.failed());
  sink.append(std::string(1 << 20, 'x'));
  EXPECT_TRUE(sink.failed());
  EXPECT_EQ(message_of<WriteFailed>([&] { sink.finish(); }), "/dev/full: cannot write: No space left on device");
}

TEST(FileSink, KeepsEveryByte) {
  const Scratch scratch;
  std::string all;
  FileSink sink(scratch / "file");
  for (int i = 0; i < 200'000; ++i) {
    const std::string piece = std::to_string(i) + "\n";
    sink.append(piece);
    all += piece;
  }
  EXPECT_EQ(sink.size(), all.size());
  sink.finish();
  EXPECT_EQ(text_of(scratch / "file"), all);
}

}  // namespace
}  // namespace dooly::results
