#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>

namespace dooly::profiling {

/// A copy of this process that runs one function with one end of a socket and ends with its result. It ignores SIGINT
/// (a terminal sends it to all; the parent decides) and is killed when its parent ends.
class ChildProcess {
 public:
  /// Throws SweepError if there can be none. What `body` throws ends the child with status 1.
  explicit ChildProcess(const std::function<int(int socket)>& body);
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  pid_t id() const { return id_; }
  int socket() const { return socket_; }
  bool has_ended();
  /// Kills it if it still runs after `patience`, and says how it ended: "was killed by signal 9 (Killed)".
  std::string kill(std::chrono::milliseconds patience);
  /// Waits until something is true, at most so long.
  static void give_time(std::chrono::milliseconds patience, const std::function<bool()>& is_true);

 private:
  pid_t id_ = -1;
  int socket_ = -1;
  int status_ = 0;
  bool has_ended_ = false;
};

}  // namespace dooly::profiling
