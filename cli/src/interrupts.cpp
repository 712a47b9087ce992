#include "interrupts.hpp"

#include <signal.h>

namespace dooly::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

void set_handler(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

void on_signal(int) {
  interrupted.store(true);
  set_handler(SIG_DFL);
}

}  // namespace

Interrupts::Interrupts() {
  interrupted.store(false);
  set_handler(on_signal);
}
Interrupts::~Interrupts() { set_handler(SIG_DFL); }

const std::atomic<bool>& Interrupts::flag() const { return interrupted; }

}  // namespace dooly::cli
