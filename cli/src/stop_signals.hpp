#pragma once

namespace dooly::cli {

/// The signals that ask a program to stop: interrupt, terminate, hang-up. `handler` may be SIG_DFL. Those that are
/// ignored stay so: `nohup`, and a shell that starts something in the background, want it. A system call that such a
/// signal interrupts is restarted. May be called from a signal handler.
void handle_stop_signals(void (*handler)(int));

}  // namespace dooly::cli
