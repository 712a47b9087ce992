#include "profiling_sweep/worker_measurer.hpp"

#include "profiling_sweep/sweep_error.hpp"
#include "worker_protocol.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace dooly::profiling {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void run_child(int socket, pid_t parent, const MeasurerFactory& factory) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended in between
  ::signal(SIGINT, SIG_IGN);   // a terminal sends it to both; the parent decides
  ::signal(SIGTERM, SIG_DFL);
  ::_exit(serve_worker(socket, factory));
}

std::string end_text(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

WorkerMeasurer::WorkerMeasurer(MeasurerFactory factory) : WorkerMeasurer(std::move(factory), Settings{}) {}
WorkerMeasurer::WorkerMeasurer(MeasurerFactory factory, Settings settings)
    : factory_(std::move(factory)),
      settings_(std::move(settings)) {}
WorkerMeasurer::~WorkerMeasurer() { stop(); }

void WorkerMeasurer::start() {
  if (child_ > 0) return;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw SweepError(std::string("no socket for the measuring process: ") + std::strerror(errno));
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) throw SweepError(std::string("no measuring process: ") + std::strerror(errno));
  if (child_ == 0) {
    ::close(ends[0]);
    run_child(ends[1], parent, factory_);
  }
  ::close(ends[1]);
  socket_ = ends[0];
  buffer_.clear();
  if (has_run_) ++restarts_;
  has_run_ = true;
}

std::string WorkerMeasurer::stop() {
  if (child_ <= 0) return {};
  ::close(socket_);  // an idle child ends by itself
  int status = 0;
  pid_t ended = 0;
  const auto patience = Clock::now() + std::chrono::milliseconds(500);
  while ((ended = ::waitpid(child_, &status, WNOHANG)) == 0 && Clock::now() < patience) ::usleep(2000);
  if (ended == 0) {
    ::kill(child_, SIGKILL);
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  child_ = -1;
  socket_ = -1;
  return end_text(status);
}

bool WorkerMeasurer::renew() {
  stop();
  has_run_ = false;  // no restart that anyone has to hear of
  return true;
}

WorkerMeasurer::Wait WorkerMeasurer::read_line(std::string& line) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(settings_.seconds_per_point);
  for (;;) {
    if (const std::size_t end = buffer_.find('\n'); end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return Wait::kAnswered;
    }
    if (settings_.gives_up && settings_.gives_up()) return Wait::kGivenUp;
    if (Clock::now() > deadline) return Wait::kTimedOut;
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, 100) <= 0) continue;
    char chunk[4096];
    const ssize_t got = ::read(socket_, chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Wait::kEnded;
    buffer_.append(chunk, static_cast<std::size_t>(got));
  }
}

WorkerMeasurer::Wait WorkerMeasurer::ask(const std::string& question, std::string& answer) {
  start();
  std::string_view rest = question;
  const std::string line = question + "\n";
  rest = line;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) break;  // the answer, if any, says why
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return read_line(answer);
}

/// A question that a sound child answers; without an answer nothing can be measured.
std::string WorkerMeasurer::asked(const std::string& question) {
  std::string answer;
  const Wait wait = ask(question, answer);
  if (wait == Wait::kGivenUp) {
    stop();
    throw Interrupted{};
  }
  if (wait == Wait::kTimedOut) {
    stop();
    throw SweepError(fmt::format("the measuring process gave no answer in {} s", settings_.seconds_per_point));
  }
  if (wait == Wait::kEnded) throw SweepError("the measuring process " + stop());
  if (answer.starts_with("error ")) {
    stop();
    throw SweepError(answer.substr(6));
  }
  return answer;
}

oracle::Environment WorkerMeasurer::environment() {
  const std::string answer = asked("environment");
  return oracle::parse_environment(answer.substr(answer.find(' ') + 1));
}

bool WorkerMeasurer::supports(const oracle::OperatorKey& key, std::string& why) {
  const std::string answer = asked("supports " + canonical_json(key));
  if (answer == "yes") return true;
  why = answer.size() > 3 ? answer.substr(3) : "";
  return false;
}

oracle::Sample WorkerMeasurer::measure(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                                       oracle::ClockRegime regime) {
  std::string answer;
  const Wait wait = ask(measure_question(key, point, regime), answer);
  if (wait == Wait::kAnswered && answer.starts_with("sample ")) return parse_sample_answer(answer.substr(7));
  oracle::Sample failed;
  failed.point = point;
  failed.regime = regime;
  failed.status = oracle::SampleStatus::kLaunchFailed;
  const std::string end = stop();
  switch (wait) {
    case Wait::kGivenUp: throw Interrupted{};
    case Wait::kTimedOut:
      failed.note = fmt::format("no answer in {} s; the measuring process was killed", settings_.seconds_per_point);
      break;
    case Wait::kEnded: failed.note = "the measuring process " + end; break;
    case Wait::kAnswered:
      if (answer.starts_with("error ")) throw SweepError(answer.substr(6));
      failed.note = answer.starts_with("lost ") ? answer.substr(5) : answer;
      break;
  }
  return failed;
}

}  // namespace dooly::profiling
