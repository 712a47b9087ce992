#include "claimed_name.hpp"

#include "cli_error.hpp"
#include "files/whole_file.hpp"
#include "stop_signals.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <utility>

namespace dooly::profiling {
namespace {

const char* removed_by_signals = nullptr;

void stop(int signal) {
  constexpr std::string_view kText = "interrupted: a run that has not ended leaves no logs\n";
  static_cast<void>(!::write(STDERR_FILENO, kText.data(), kText.size()));
  ::unlink(removed_by_signals);
  ::_exit(128 + signal);
}

}  // namespace

ClaimedName::ClaimedName(std::filesystem::path lock) : lock_(std::move(lock)) {
  do {
    if (file_ >= 0) ::close(file_);
    file_ = ::open(lock_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) throw cli::UsageError(lock_.string() + ": cannot be written: " + std::strerror(errno));
    if (::flock(file_, LOCK_EX | LOCK_NB) == 0) continue;
    ::close(file_);
    throw cli::UsageError(lock_.parent_path().string() + ": another run of that name is writing there");
  } while (!files::is_still_there(file_, lock_));
  removed_by_signals = lock_.c_str();
  cli::handle_stop_signals(&stop);
}

ClaimedName::~ClaimedName() {
  cli::handle_stop_signals(SIG_DFL);
  ::unlink(lock_.c_str());
  ::close(file_);
}

}  // namespace dooly::profiling
