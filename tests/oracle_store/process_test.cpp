#include "oracle_store/signature_store.hpp"
#include "oracle_store/store_error.hpp"

#include "random_store.hpp"
#include "test_support/scratch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

extern char** environ;

namespace dooly::store {
namespace {

using Mode = SignatureStore::Mode;
using test::Scratch;

int setting(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

/// store_process in the background, its output in a file.
class Process {
 public:
  Process(const std::string& verb, const std::filesystem::path& store, std::uint64_t count,
          const std::filesystem::path& output) {
    std::string program = DOOLY_STORE_PROCESS, word = verb, directory = store.string(), number = std::to_string(count);
    char* arguments[] = {program.data(), word.data(), directory.data(), number.data(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    EXPECT_EQ(::posix_spawn(&id_, program.c_str(), &actions, nullptr, arguments, environ), 0);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  void kill() const { ::kill(id_, SIGKILL); }
  /// Its exit status; -1 if it was killed.
  int wait() const {
    int status = 0;
    ::waitpid(id_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t id_ = 0;
};

std::uint64_t last_number(const std::filesystem::path& output) {
  std::ifstream file(output);
  std::uint64_t last = 0;
  for (std::uint64_t number = 0; file >> number;) last = number;
  return last;
}

void wait_for_output(const std::filesystem::path& output) {
  for (int i = 0; i < 10'000 && (!std::filesystem::exists(output) || std::filesystem::file_size(output) == 0); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(StoreProcesses, AKilledWriterLosesAtMostThePointInFlight) {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "store", output = scratch / "output";
  const std::string environment = oracle::environment_id(test_environment());
  const oracle::Signature signature = oracle::signature_of(test_key());
  std::mt19937_64 random(11);
  std::uint64_t promised = 0, advanced = 0;
  const int kills = setting("DOOLY_STORE_KILLS", 20);
  for (int i = 0; i < kills; ++i) {
    std::filesystem::remove(output);
    const Process writer("sweep", path, 1'000'000, output);
    if (i % 2 == 0) wait_for_output(output);  // else it may die while it opens
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 100'000));
    writer.kill();
    ASSERT_EQ(writer.wait(), -1);
    promised = std::max(promised, last_number(output));
    if (!std::filesystem::exists(path / "CURRENT") || promised == 0) continue;  // killed before it began
    const SignatureStore store = SignatureStore::open(path, Mode::kRead);
    const std::vector<oracle::Sample> samples = store.samples(environment, signature);
    ASSERT_GE(samples.size(), promised);
    ASSERT_LE(samples.size(), promised + 1);
    for (std::size_t at = 0; at < samples.size(); ++at)
      ASSERT_EQ(samples[at], test_sample(at + 1, 1e-6 * static_cast<double>(at + 1)));
    const std::vector<Damage> damages = SignatureStore::verify(path);
    ASSERT_TRUE(damages.empty()) << damages.front().record << ": " << damages.front().what;
    advanced += samples.size() > promised;
    promised = samples.size();
  }
  const std::uint64_t more = promised + 5;
  EXPECT_EQ(Process("sweep", path, more, output).wait(), 0) << "the sweep resumes and ends";
  EXPECT_EQ(SignatureStore::open(path, Mode::kRead).samples(environment, signature).size(), more);
  EXPECT_TRUE(SignatureStore::verify(path).empty());
  RecordProperty("points", static_cast<int>(promised));
  std::printf("%d kills, %llu points, %llu in flight that arrived\n", kills, static_cast<unsigned long long>(promised),
              static_cast<unsigned long long>(advanced));
}

TEST(StoreProcesses, AWriterThatIsKilledWhileItOpensDamagesNothing) {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "store", output = scratch / "output";
  std::mt19937_64 random(12);
  const int kills = setting("DOOLY_STORE_KILLS", 20);
  for (int i = 1; i <= kills; ++i) {
    const auto points = static_cast<std::uint64_t>(i);
    ASSERT_EQ(Process("sweep", path, points, output).wait(), 0) << "ends, so the store is sealed";
    const Process writer("sweep", path, 1'000'000, output);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40'000));
    writer.kill();
    ASSERT_EQ(writer.wait(), -1);
    const std::vector<Damage> damages = SignatureStore::verify(path);
    ASSERT_TRUE(damages.empty()) << i << ": " << damages.front().record << ": " << damages.front().what;
  }
}

TEST(StoreProcesses, ReadersWorkBesideAWriter) {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "store";
  EXPECT_EQ(Process("sweep", path, 1, scratch / "output").wait(), 0);
  const int readers = setting("DOOLY_STORE_READERS", 8);
  constexpr std::uint64_t kPoints = 400;
  std::vector<Process> processes;
  for (int i = 0; i < readers; ++i)
    processes.emplace_back("read", path, kPoints, scratch / ("reader" + std::to_string(i)));
  EXPECT_EQ(Process("sweep", path, kPoints / 2, scratch / "output").wait(), 0);
  EXPECT_EQ(Process("sweep", path, kPoints, scratch / "output").wait(), 0);
  for (const Process& process : processes) EXPECT_EQ(process.wait(), 0);
}

/// Each takes its log away and seals the store.
TEST(StoreProcesses, ReadersOpenWhileWritersEnd) {
  const Scratch scratch;
  const std::filesystem::path path = scratch / "store";
  ASSERT_EQ(Process("sweep", path, 1, scratch / "output").wait(), 0);
  std::atomic<bool> are_done = false;
  std::vector<std::string> troubles(16);
  std::vector<std::thread> readers;
  for (std::string& trouble : troubles)
    readers.emplace_back([&] {
      while (!are_done && trouble.empty()) {
        try {
          SignatureStore::open(path, Mode::kRead);
        } catch (const StoreError& error) {
          const std::string what = error.what();
          if (what.find("try again") == std::string::npos) trouble = what;
        }
      }
    });
  const int writers = std::min(40, setting("DOOLY_STORE_KILLS", 20));
  for (int i = 1; i <= writers; ++i)
    EXPECT_EQ(Process("sweep", path, 1 + static_cast<std::uint64_t>(i), scratch / "output").wait(), 0);
  are_done = true;
  for (std::thread& reader : readers) reader.join();
  for (const std::string& trouble : troubles) EXPECT_EQ(trouble, "");
}

}  // namespace
}  // namespace dooly::store
