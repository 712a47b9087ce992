// Work in a process of its own: what comes back of it, and what goes with it.
#include "in_child.hpp"
#include "scratch_directory.hpp"

#include "../cli/dooly_process.hpp"
#include "validate/interruption.hpp"
#include "validate/validation.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace dooly::validate {
namespace {

namespace fs = std::filesystem;

TEST(InChild, BringsBytesBack) {
  EXPECT_EQ(in_child([](const ByteWriter& write) { write("abc", 3); }), "abc");
}

TEST(InChild, TellsBugsFromSimulationsThatBrokeOff) {
  EXPECT_THROW(in_child([](const ByteWriter&) { throw std::runtime_error("stalled"); }), SimulationBrokeOff);
  EXPECT_THROW(in_child([](const ByteWriter&) { throw std::logic_error("a bug"); }), std::logic_error);
  try {
    in_child([](const ByteWriter&) { ::raise(SIGKILL); });
    FAIL() << "the child's death went unseen";
  } catch (const SimulationBrokeOff& error) {
    EXPECT_STREQ(error.what(), "the simulation's process died of signal 9");
  }
}

TEST(InChild, AnInterruptEndsTheChild) {
  const cli::Scratch scratch;
  const std::atomic<bool> flag{true};
  watch_interrupts(&flag);
  const auto work = [&](const ByteWriter&) {
    for (;;) ::pause();
  };
  EXPECT_THROW(in_child(work), Interrupted);
  watch_interrupts(nullptr);
  EXPECT_LT(::waitpid(-1, nullptr, WNOHANG), 0);  // no child is left
}

class ScratchDirectories : public testing::Test {
 protected:
  ScratchDirectories() {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", scratch_.path().c_str(), 1);
  }
  ~ScratchDirectories() override {
    if (before_)
      ::setenv("TMPDIR", before_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }
  fs::path left_behind(const std::string& name, std::chrono::minutes ago) {
    const fs::path directory = scratch_ / name;
    fs::create_directory(directory);
    scratch_.file(name + "/profile", "x");
    fs::last_write_time(directory, fs::file_time_type::clock::now() - ago);
    return directory;
  }
  cli::Scratch scratch_;
  std::optional<std::string> before_;
};

TEST_F(ScratchDirectories, GoWithTheirOwner) {
  fs::path path;
  {
    const ScratchDirectory directory;
    path = directory.path();
    EXPECT_TRUE(fs::is_directory(path));
    EXPECT_EQ(path.parent_path(), scratch_.path());
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchDirectories, OfKilledProcessesAreRemovedByTheNext) {
  const std::chrono::minutes hour{60};
  const fs::path abandoned = left_behind("dooly-validate-aaaaaa", hour),
                 held = left_behind("dooly-validate-bbbbbb", hour), young = left_behind("dooly-validate-cccccc", {}),
                 other = left_behind("other", hour);
  const int lock = ::open(held.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  { const ScratchDirectory directory; }
  ::close(lock);
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::exists(held / "profile"));
  EXPECT_TRUE(fs::exists(young / "profile"));
  EXPECT_TRUE(fs::exists(other / "profile"));
}

}  // namespace
}  // namespace dooly::validate
