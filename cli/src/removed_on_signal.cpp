#include "removed_on_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace dooly::cli {
namespace {

std::atomic<const char*> doomed{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);  // a signal handler reads it

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

void set_handler(void (*handler)(int)) {
  for (const int signal : kSignals) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

void on_signal(int signal) {
  if (const char* file = doomed.exchange(nullptr)) ::unlink(file);
  set_handler(SIG_DFL);
  ::raise(signal);  // arrives when this handler returns
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(const std::filesystem::path& file) : file_(file.string()) {
  doomed.store(file_.c_str());
  set_handler(on_signal);
}

RemovedOnSignal::~RemovedOnSignal() {
  set_handler(SIG_DFL);
  doomed.store(nullptr);
}

}  // namespace dooly::cli
