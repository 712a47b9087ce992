#include "interrupts.hpp"

#include <signal.h>

#include "stop_signals.hpp"

namespace dooly::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

void on_signal(int) {
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

}  // namespace dooly::cli
