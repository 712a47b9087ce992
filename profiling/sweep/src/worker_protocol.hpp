#pragma once

#include "oracle/sample.hpp"
#include "profiling_measure/measurer.hpp"
#include "profiling_sweep/worker_measurer.hpp"

#include <string>

namespace dooly::profiling {

// One line a question, one line an answer:
//   environment                          environment JSON
//   supports KEY-JSON                    yes | no WHY
//   measure REGIME P0,P1,…,P6 KEY-JSON   sample RECORD-LINE | lost WHAT
// Whatever cannot be made or goes wrong: `error WHAT`.

/// The child's side: makes the measurer, answers until the socket closes. Returns its exit status.
int serve_worker(int socket, const MeasurerFactory& factory);

std::string measure_question(const oracle::OperatorKey& key, const oracle::SamplePoint& point,
                             oracle::ClockRegime regime);
/// Of a "sample" answer, without that word.
oracle::Sample parse_sample_answer(const std::string& text);
std::string one_line(std::string text);

}  // namespace dooly::profiling
