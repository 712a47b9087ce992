#include "interrupts.hpp"

#include <signal.h>

#include "stop_signals.hpp"

namespace dooly::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

std::atomic<int> last_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  last_signal.store(signal);
  interrupted.store(true);
  handle_stop_signals(SIG_DFL);
}

}  // namespace

Interrupts::Interrupts() {
  interrupted.store(false);
  handle_stop_signals(on_signal);
}
Interrupts::~Interrupts() { handle_stop_signals(SIG_DFL); }

const std::atomic<bool>& Interrupts::flag() const { return interrupted; }

void Interrupts::end_process() const {
  if (interrupted) ::raise(last_signal);  // whose default action it is again
}

}  // namespace dooly::cli
