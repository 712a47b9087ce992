#include "files/whole_file.hpp"
#include "files/errors.hpp"
#include "test_support/scratch.hpp"
#include "test_support/small_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace dooly::files {
namespace {

namespace fs = std::filesystem;

using test::message_of;
using test::text_of;

class WholeFileTest : public testing::Test {
 protected:
  std::size_t files_there() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_), {}));
  }
  const test::Scratch scratch_;
  const fs::path directory_ = scratch_.path();
};

TEST_F(WholeFileTest, HasItsNameOnlyWhenItIsWhole) {
  const fs::path path = directory_ / "a.json";
  WholeFile file(path);
  file.write("one ");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(file.temporary().parent_path(), directory_);
  EXPECT_TRUE(file.temporary().filename().string().starts_with(".a.json." + std::to_string(::getpid()) + "-"))
      << file.temporary();
  file.write("two");
  file.finish();
  EXPECT_EQ(text_of(path), "one two");
  EXPECT_EQ(files_there(), 1u);
}

TEST_F(WholeFileTest, OneThatIsNotFinishedLeavesWhatWasThere) {
  const fs::path path = directory_ / "a.json";
  write_whole_file(path, "old");
  { WholeFile(path).write("new"); }
  EXPECT_EQ(text_of(path), "old");
  EXPECT_EQ(files_there(), 1u);
}

TEST_F(WholeFileTest, AFullDiskNamesTheFileAndLeavesNothing) {
  const fs::path path = directory_ / "a.json";
  const test::SmallFiles disk(1000);
  EXPECT_EQ(message_of<WriteFailed>([&] { write_whole_file(path, std::string(1001, 'x')); }),
            path.string() + ": cannot write: File too large");
  EXPECT_EQ(files_there(), 0u);
  write_whole_file(path, std::string(1000, 'x'));
  EXPECT_EQ(fs::file_size(path), 1000u);
}

TEST_F(WholeFileTest, TheFirstFailureIsKept) {
  WholeFile file("/dev/full");
  EXPECT_FALSE(file.failed());
  file.write("lost");
  file.fail(EIO);
  EXPECT_EQ(file.failure(), "/dev/full: cannot write: No space left on device");
  EXPECT_THROW(file.finish(), WriteFailed);
}

TEST_F(WholeFileTest, ADeviceIsWrittenToAndStays) {
  struct stat before {
  }, after{};
  ASSERT_EQ(::stat("/dev/null", &before), 0);
  write_whole_file("/dev/null", "gone");
  ASSERT_EQ(::stat("/dev/null", &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  EXPECT_EQ(message_of<WriteFailed>([] { write_whole_file("/dev/full", "lost"); }),
            "/dev/full: cannot write: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(WholeFileTest, ALinkStaysALinkAndAFileItsMode) {
  const fs::path target = directory_ / "target", link = directory_ / "link";
  write_whole_file(target, "old");
  ASSERT_EQ(::chmod(target.c_str(), 0640), 0);
  fs::create_symlink("target", link);
  write_whole_file(link, "new");
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(text_of(target), "new");
  EXPECT_EQ(fs::status(target).permissions(), fs::perms(0640));
  fs::create_symlink(directory_ / "absent", directory_ / "dangling");
  write_whole_file(directory_ / "dangling", "made");
  EXPECT_EQ(text_of(directory_ / "absent"), "made");
}

TEST_F(WholeFileTest, NamesThatWillNotDoAreRefused) {
  const auto refusal = [](const fs::path& path) {
    return message_of<NameRefused>([&] { const WholeFile file(path); });
  };
  const fs::path nowhere = directory_ / "no" / "file";
  EXPECT_EQ(refusal(nowhere), nowhere.string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(refusal(directory_), directory_.string() + ": is a directory");
  EXPECT_EQ(refusal(directory_ / ""), (directory_ / "").string() + ": cannot be written: No such file or directory");
  EXPECT_EQ(refusal(""), ": cannot be written: No such file or directory");
}

/// Neither taken for a leftover nor written through.
TEST_F(WholeFileTest, FilesOfOthersBesideItStay) {
  const std::vector<std::string> names = {"a.tmp",
                                          ".a.tmp",
                                          ".a.1-0123456789abcde.dooly-tmp",
                                          ".b.1-0123456789abcdef.dooly-tmp",
                                          ".a..dooly-tmp",
                                          ".a.x-0123456789abcdef.dooly-tmp"};
  for (const std::string& name : names) std::ofstream(directory_ / name) << "precious";
  fs::create_symlink("a.tmp", directory_ / ".a.2-0123456789abcdef.dooly-tmp");
  ASSERT_EQ(::mkfifo((directory_ / ".a.3-0123456789abcdef.dooly-tmp").c_str(), 0600), 0);
  write_whole_file(directory_ / "a", "new");
  EXPECT_EQ(text_of(directory_ / "a"), "new");
  for (const std::string& name : names) EXPECT_EQ(text_of(directory_ / name), "precious") << name;
  EXPECT_EQ(files_there(), names.size() + 3);
}

TEST_F(WholeFileTest, ANameAsLongAsTheyMayBeIsWrittenAndALongerOneRefusedAtOnce) {
  write_whole_file(directory_ / std::string(255, 'a'), "long");
  EXPECT_EQ(text_of(directory_ / std::string(255, 'a')), "long");
  EXPECT_THROW(WholeFile(directory_ / std::string(256, 'a')), NameRefused);
  EXPECT_EQ(files_there(), 1u);
}

TEST_F(WholeFileTest, TwoWritersDoNotMix) {
  const fs::path path = directory_ / "a";
  WholeFile first(path);
  EXPECT_EQ(message_of<NameRefused>([&] { const WholeFile second(path); }),
            path.string() + ": another process is writing it");
  first.write("first");
  first.finish();
  EXPECT_EQ(text_of(path), "first");
}

TEST_F(WholeFileTest, WhatAKilledWriterLeftGoesWithTheNext) {
  const pid_t child = ::fork();
  if (child == 0) {
    WholeFile file(directory_ / "a");
    file.write("much longer than what comes");
    ::_exit(0);  // no destructor runs
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(files_there(), 1u);
  write_whole_file(directory_ / "b", "of another name");
  EXPECT_EQ(files_there(), 2u);
  write_whole_file(directory_ / "a", "short");
  EXPECT_EQ(text_of(directory_ / "a"), "short");
  EXPECT_EQ(files_there(), 2u);
}

}  // namespace
}  // namespace dooly::files
