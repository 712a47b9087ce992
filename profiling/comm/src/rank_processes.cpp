#include "profiling_comm/rank_processes.hpp"

#include "child_process.hpp"
#include "comm_libraries.hpp"
#include "line_socket.hpp"
#include "profiling_sweep/sweep_error.hpp"
#include "rank_protocol.hpp"
#include "rank_worker.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <new>

namespace dooly::profiling {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLookEvery = 50;  // ms, at the interrupt flag
constexpr std::chrono::milliseconds kPatience{500};  // with ranks that were asked to end

}  // namespace

struct RankProcesses::Rank {
  ChildProcess process;
  LineSocket lines;
};

/// Memory that the ranks share.
struct RankProcesses::Shared {
  Shared() {
    void* memory = ::mmap(nullptr, sizeof(SpinBarrier), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw SweepError("no memory to share between the ranks");
    barrier = new (memory) SpinBarrier;
  }
  ~Shared() { ::munmap(barrier, sizeof(SpinBarrier)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  SpinBarrier* barrier;
};

RankProcesses::RankProcesses(std::uint32_t ranks, RankSettings settings)
    : settings_(std::move(settings)),
      shared_(std::make_unique<Shared>()) {
  forbid_multicast();
  ranks_.reserve(ranks);
  try {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      SpinBarrier& barrier = *shared_->barrier;
      ChildProcess process([&, rank](int socket) {
        for (const Rank& other : ranks_) LineSocket(other.lines.descriptor()).close();
        return serve_rank(socket, rank, ranks, barrier);
      });
      LineSocket lines(process.socket());
      ranks_.push_back({std::move(process), std::move(lines)});
    }
    join();
  } catch (const RankFailure& failure) {
    throw SweepError(fmt::format("{} GPUs cannot work together: {}", ranks, failure.what()));
  } catch (...) {
    stop();
    throw;
  }
}

RankProcesses::~RankProcesses() { stop(); }

void RankProcesses::join() {
  ranks_.front().lines.write("id");
  const std::string id = answers(settings_.start_s, 0, 1).front();
  if (!id.starts_with("id ")) fail(0, id);
  ask("join " + id.substr(3), settings_.start_s);
}

bool RankProcesses::prepare(const CommWork& work) {
  const BufferBytes bytes = buffers_of(work.collective, work.bytes);
  ask(fmt::format("buffers {} {}", bytes.send, bytes.receive), settings_.answer_s);
  const auto told = ask(prepare_question(work), settings_.answer_s);
  return std::all_of(told.begin(), told.end(), [](const std::string& answer) { return answer == "captured"; });
}

std::vector<double> RankProcesses::run(std::uint32_t repetitions, DeviceReading& reading) {
  std::vector<RankTimes> times;
  for (const std::string& answer : ask(fmt::format("run {}", repetitions), settings_.answer_s))
    times.push_back(parse_times(answer));
  reading = times.front().reading;
  return slowest(times);
}

std::vector<pid_t> RankProcesses::processes() const {
  std::vector<pid_t> ids;
  for (const Rank& rank : ranks_) ids.push_back(rank.process.id());
  return ids;
}

std::vector<std::string> RankProcesses::ask(const std::string& question, double seconds) {
  if (ranks_.empty()) throw RankFailure(oracle::SampleStatus::kLaunchFailed, "the ranks have ended");
  for (const Rank& rank : ranks_) rank.lines.write(question);
  return answers(seconds, 0, ranks_.size());
}

/// Of ranks first … first + count - 1. The first bad answer ends the group: ranks that wait for each other on their
/// devices would never answer.
std::vector<std::string> RankProcesses::answers(double seconds, std::size_t first, std::size_t count) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<std::string> found(count);
  std::vector<bool> is_there(count, false);
  for (;;) {
    std::vector<pollfd> waits;
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < count; ++i) {
      if (is_there[i]) continue;
      open.push_back(i);
      waits.push_back({ranks_[first + i].lines.descriptor(), POLLIN, 0});
    }
    if (open.empty()) return found;
    if (settings_.gives_up && settings_.gives_up()) {
      stop();
      throw CommInterrupted{};
    }
    if (Clock::now() > deadline) fail(first + open.front(), fmt::format("error no answer in {} s", seconds));
    if (::poll(waits.data(), waits.size(), kLookEvery) <= 0) continue;
    for (std::size_t w = 0; w < waits.size(); ++w) {
      if (waits[w].revents == 0) continue;
      const std::size_t i = open[w];
      LineSocket& lines = ranks_[first + i].lines;
      if (!lines.read_more()) fail(first + i, "");
      if (auto line = lines.take_line()) {
        if (line->starts_with("error ") || line->starts_with("memory ")) fail(first + i, *line);
        found[i] = *line;
        is_there[i] = true;
      }
    }
  }
}

void RankProcesses::fail(std::size_t rank, const std::string& answer) {
  const auto status =
      answer.starts_with("memory ") ? oracle::SampleStatus::kOutOfMemory : oracle::SampleStatus::kLaunchFailed;
  const std::string what = answer.empty() ? ranks_[rank].process.kill(kPatience) : answer.substr(answer.find(' ') + 1);
  stop();
  throw RankFailure(status, fmt::format("rank {}: {}", rank, what));
}

void RankProcesses::stop() {
  for (const Rank& rank : ranks_) rank.lines.write("quit");
  ChildProcess::give_time(kPatience, [this] {
    return std::all_of(ranks_.begin(), ranks_.end(), [](Rank& rank) { return rank.process.has_ended(); });
  });
  for (Rank& rank : ranks_) rank.process.kill(std::chrono::milliseconds(0));
  ranks_.clear();
}

}  // namespace dooly::profiling
