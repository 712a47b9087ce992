#include "oracle/text_file.hpp"

#include "oracle/model_config.hpp"
#include "oracle/oracle_error.hpp"
#include "test_support/scratch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fstream>
#include <thread>

namespace dooly::oracle {
namespace {

using dooly::test::Scratch;

std::string problem(const std::filesystem::path& path, std::uint64_t limit = kLargestTextFile) {
  try {
    read_text_file(path, limit);
  } catch (const OracleError& error) {
    return error.what();
  }
  return "read";
}

TEST(TextFile, ReadsAllBytesUpToTheLimit) {
  const Scratch scratch;
  const std::string text(200'001, 'x');
  std::ofstream(scratch / "a") << text;
  EXPECT_EQ(read_text_file(scratch / "a"), text);
  EXPECT_EQ(read_text_file(scratch / "a", text.size()), text);
  EXPECT_TRUE(problem(scratch / "a", text.size() - 1).ends_with("a: larger than 200000 bytes, the most that is read"));
  std::ofstream(scratch / "empty") << "";
  EXPECT_EQ(read_text_file(scratch / "empty"), "");
}

TEST(TextFile, NamesWhatHasNoEndIsNotThereOrIsADirectory) {
  const Scratch scratch;
  EXPECT_EQ(problem("/dev/zero"), "/dev/zero: larger than 64 MiB, the most that is read");
  EXPECT_EQ(problem("/dev/zero", std::uint64_t{1} << 20), "/dev/zero: larger than 1 MiB, the most that is read");
  EXPECT_TRUE(problem(scratch / "none").ends_with("none: cannot be read: No such file or directory"));
  EXPECT_TRUE(problem(scratch.path()).ends_with(": is a directory, not a file"));
  EXPECT_EQ(size_text(std::uint64_t{2} << 30), "2 GiB");
}

TEST(TextFile, APipeIsReadWhereSomebodyWritesAndNotWaitedForElse) {
  const Scratch scratch;
  const std::filesystem::path pipe = scratch / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_text_file(pipe), "");
  const int keeps_open = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  std::thread writer([&] {
    ::usleep(50'000);  // slow: the reader is there first
    std::ofstream(pipe) << "late";
    ::close(keeps_open);
  });
  EXPECT_EQ(read_text_file(pipe), "late");
  writer.join();
}

TEST(TextFile, AModelFileWithoutEndIsRefused) {
  try {
    load_model_file("/dev/zero");
    FAIL() << "accepted";
  } catch (const OracleError& error) {
    EXPECT_STREQ(error.what(), "model /dev/zero: larger than 64 MiB, the most that is read");
  }
}

}  // namespace
}  // namespace dooly::oracle
