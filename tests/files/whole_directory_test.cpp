#include "files/whole_directory.hpp"
#include "files/errors.hpp"
#include "test_support/scratch.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

namespace dooly::files {
namespace {

namespace fs = std::filesystem;

class WholeDirectoryTest : public testing::Test {
 protected:
  auto entries() const { return std::distance(fs::directory_iterator(scratch_.path()), {}); }
  std::string refusal(const fs::path& path) const {
    return test::message_of<NameRefused>([&] { const WholeDirectory directory(path); });
  }
  const test::Scratch scratch_;
  const fs::path path_ = scratch_ / "d";
};

TEST_F(WholeDirectoryTest, HasItsNameOnlyWhenItIsWhole) {
  WholeDirectory directory(path_);
  std::ofstream(directory.temporary() / "a") << "text";
  EXPECT_FALSE(fs::exists(path_));
  directory.finish();
  EXPECT_EQ(test::text_of(path_ / "a"), "text");
  EXPECT_EQ(entries(), 1);
}

TEST_F(WholeDirectoryTest, OneThatIsNotFinishedLeavesNothing) {
  { std::ofstream(WholeDirectory(path_).temporary() / "a") << "text"; }
  EXPECT_EQ(entries(), 0);
}

TEST_F(WholeDirectoryTest, AnEmptyOneIsFilledInPlaceAndEmptiedAgain) {
  fs::create_directory(path_);
  fs::create_directory_symlink("d", scratch_ / "link");
  for (const fs::path& name : {path_, path_ / "", scratch_ / "link"}) {
    {
      std::ofstream(WholeDirectory(name).temporary() / "a") << "text";
    }
    EXPECT_TRUE(fs::is_empty(path_));
  }
  WholeDirectory directory(path_);
  std::ofstream(directory.temporary() / "a") << "text";
  directory.finish();
  EXPECT_EQ(test::text_of(path_ / "a"), "text");
}

TEST_F(WholeDirectoryTest, AnythingElseIsRefused) {
  WholeDirectory late(path_);
  fs::create_directory(path_);
  std::ofstream(path_ / "mine") << "x";
  EXPECT_EQ(test::message_of<NameRefused>([&] { late.finish(); }),
            path_.string() + ": cannot be written: Directory not empty");
  EXPECT_EQ(refusal(path_), path_.string() + ": cannot be written: Directory not empty");
  EXPECT_EQ(refusal(path_ / "mine"), (path_ / "mine").string() + ": cannot be written: File exists");
  EXPECT_EQ(refusal(path_ / "mine" / "d"), (path_ / "mine" / "d").string() + ": cannot be written: Not a directory");
  EXPECT_EQ(refusal("/dev/null"), "/dev/null: cannot be written: File exists");
}

TEST_F(WholeDirectoryTest, TwoWritersDoNotMix) {
  const WholeDirectory first(path_);
  EXPECT_EQ(refusal(path_), path_.string() + ": another process is writing it");
}

TEST_F(WholeDirectoryTest, OneInPlaceIsNotEmptiedByAnotherWriter) {
  fs::create_directory(path_);
  WholeDirectory first(path_);
  EXPECT_EQ(refusal(path_), path_.string() + ": another process is writing it");
  std::ofstream(first.temporary() / "a") << "text";
  EXPECT_EQ(refusal(path_), path_.string() + ": cannot be written: Directory not empty");
  first.finish();
  EXPECT_EQ(test::text_of(path_ / "a"), "text");
}

TEST_F(WholeDirectoryTest, LongNamesThatBeginAlikeDoNotBlockEachOther) {
  const std::string alike(200, 'a');
  WholeDirectory one(scratch_ / (alike + "1")), two(scratch_ / (alike + "2"));
  one.finish(), two.finish();
  EXPECT_TRUE(fs::is_directory(scratch_ / (alike + "2")));
}

TEST_F(WholeDirectoryTest, WhatAKilledWriterLeftGoesWithTheNext) {
  const pid_t child = ::fork();
  if (child == 0) {
    const WholeDirectory directory(path_);
    std::ofstream(directory.temporary() / "a") << "text";
    ::_exit(0);  // no destructor runs
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(entries(), 1);
  WholeDirectory(path_).finish();
  EXPECT_EQ(entries(), 1);
  EXPECT_TRUE(fs::is_empty(path_));
}

}  // namespace
}  // namespace dooly::files
