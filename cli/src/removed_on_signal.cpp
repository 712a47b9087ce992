#include "removed_on_signal.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>

#include "stop_signals.hpp"

namespace dooly::cli {
namespace {

std::atomic<const char*> doomed{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);  // a signal handler reads it

void on_signal(int signal) {
  if (const char* file = doomed.exchange(nullptr)) ::unlink(file);
  handle_stop_signals(SIG_DFL);
  ::raise(signal);  // arrives when this handler returns
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(const std::filesystem::path& file) : file_(file.string()) {
  doomed.store(file_.c_str());
  handle_stop_signals(on_signal);
}

RemovedOnSignal::~RemovedOnSignal() {
  handle_stop_signals(SIG_DFL);
  doomed.store(nullptr);
}

}  // namespace dooly::cli
