#include "interrupts.hpp"

#include <signal.h>

namespace dooly::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// Of those that are not ignored: `nohup`, and a shell that starts something in the background, want it so.
void set_handler(void (*handler)(int)) {
  for (const int signal : kSignals) {
    struct sigaction now {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
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
