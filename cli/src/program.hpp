#pragma once

namespace dooly::cli {

/// The whole program: parses, runs the verb, prints what went wrong. Returns the exit status.
int run_program(int argc, const char* const* argv);

}  // namespace dooly::cli
