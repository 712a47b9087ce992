#pragma once

#include "command.hpp"
#include "profile_program.hpp"

namespace dooly::profiling {

/// `dooly profile` with its commands, each in a file of its own.
cli::Command profile_command(const Devices& devices, const ServeFunction& serve, const TraceFunction& trace,
                             const StepFunction& study, const RefusalFunction& refusal);

cli::Command model_command(const Devices& devices, const RefusalFunction& refusal);
cli::Command comm_command();
cli::Command score_command();
cli::Command trace_command(const TraceFunction& trace);
cli::Command serve_command(const ServeFunction& serve);
cli::Command step_command(const StepFunction& study);

}  // namespace dooly::profiling
