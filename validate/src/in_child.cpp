#include "in_child.hpp"

#include "validate/interruption.hpp"
#include "validate/validation.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace dooly::validate {
namespace {

constexpr char kOk = 'k', kFailed = 'f', kBug = 'b';
constexpr int kDone = 0, kLostPipe = 3;
constexpr int kLookEvery = 200;  // ms; a signal that comes between look and wait is seen after this

const std::atomic<bool>* interrupt_flag = nullptr;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

/// In the child: there is nobody to tell when the pipe is gone.
void write_all(int pipe, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(pipe, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) ::_exit(kLostPipe);
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

/// The child leaves without the parent's destructors and buffers.
[[noreturn]] void run_child(int pipe, const std::function<void(const ByteWriter&)>& work) {
  char state = kOk;
  std::string message;
  try {
    work([pipe](const void* bytes, std::size_t size) { write_all(pipe, bytes, size); });
  } catch (const std::logic_error& error) {
    state = kBug;
    message = error.what();
  } catch (const std::exception& error) {
    state = kFailed;
    message = error.what();
  }
  message += state;
  write_all(pipe, message.data(), message.size());
  ::_exit(kDone);
}

std::string read_all(int pipe) {
  std::string all;
  char buffer[1 << 16];
  for (;;) {
    stop_if_interrupted();
    pollfd readable{.fd = pipe, .events = POLLIN, .revents = 0};
    if (::poll(&readable, 1, kLookEvery) <= 0) continue;
    const ssize_t size = ::read(pipe, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    all.append(buffer, static_cast<std::size_t>(size));
  }
  return all;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

void watch_interrupts(const std::atomic<bool>* flag) { interrupt_flag = flag; }

void stop_if_interrupted() {
  if (interrupt_flag != nullptr && interrupt_flag->load()) throw Interrupted();
}

std::string in_child(const std::function<void(const ByteWriter&)>& work) {
  int ends[2];
  if (::pipe(ends) != 0) fail("pipe");
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    run_child(ends[1], work);
  }
  ::close(ends[1]);
  std::string all;
  try {
    all = read_all(ends[0]);
  } catch (const Interrupted&) {
    ::kill(child, SIGKILL);
    wait_for(child);
    ::close(ends[0]);
    throw;
  }
  ::close(ends[0]);
  const int status = wait_for(child);
  if (all.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != kDone)
    throw SimulationBrokeOff("the simulation's process died" +
                             (WIFSIGNALED(status) ? " of signal " + std::to_string(WTERMSIG(status)) : std::string()));
  const char state = all.back();
  all.pop_back();
  if (state == kBug) throw std::logic_error(all);
  if (state == kFailed) throw SimulationBrokeOff(all);
  return all;
}

}  // namespace dooly::validate
