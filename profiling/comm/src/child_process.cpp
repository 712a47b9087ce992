#include "child_process.hpp"

#include "profiling_sweep/sweep_error.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

namespace dooly::profiling {
namespace {

[[noreturn]] void run_child(int socket, pid_t parent, const std::function<int(int)>& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended in between
  ::signal(SIGINT, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  int status = 1;
  try {
    status = body(socket);
  } catch (const std::exception&) {
    status = 1;
  }
  ::_exit(status);
}

}  // namespace

ChildProcess::ChildProcess(const std::function<int(int)>& body) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw SweepError(fmt::format("no socket for a measuring process: {}", std::strerror(errno)));
  const pid_t parent = ::getpid();
  id_ = ::fork();
  if (id_ < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    throw SweepError(fmt::format("no measuring process: {}", std::strerror(errno)));
  }
  if (id_ == 0) {
    ::close(ends[0]);
    run_child(ends[1], parent, body);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      socket_(std::exchange(other.socket_, -1)),
      status_(other.status_),
      has_ended_(other.has_ended_) {}

ChildProcess::~ChildProcess() {
  if (id_ > 0) kill(std::chrono::milliseconds(0));
  if (socket_ >= 0) ::close(socket_);
}

bool ChildProcess::has_ended() {
  if (!has_ended_) has_ended_ = ::waitpid(id_, &status_, WNOHANG) == id_;
  return has_ended_;
}

std::string ChildProcess::kill(std::chrono::milliseconds patience) {
  give_time(patience, [this] { return has_ended(); });
  if (!has_ended_) {
    ::kill(id_, SIGKILL);
    while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {
    }
    has_ended_ = true;
  }
  if (WIFSIGNALED(status_))
    return fmt::format("was killed by signal {} ({})", WTERMSIG(status_), ::strsignal(WTERMSIG(status_)));
  return fmt::format("ended with status {}", WEXITSTATUS(status_));
}

void ChildProcess::give_time(std::chrono::milliseconds patience, const std::function<bool()>& is_true) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!is_true() && std::chrono::steady_clock::now() < until) ::usleep(2000);
}

}  // namespace dooly::profiling
