#pragma once

#include <filesystem>
#include <string>

namespace dooly::validate::test {

/// Writes a run of two requests, one at 0 and one at 1 s, 100 tokens in and 3 out each, in the format
/// vllm-h200-groundtruth: tiny/run.* and tiny/engine.json below `directory`. TTFT 8 and 12 ms, TPOT 12.5 and 10 ms;
/// every decode takes 8 ms on the GPU, every prompt 10. `first_tokens`: of the first prompt's iteration.
void write_hand_made_run(const std::filesystem::path& directory, int first_tokens = 100);

/// A validation of it against an engine whose every step takes 10 ms and whose host takes no time. `more` is appended.
std::string hand_made_validation(const std::string& more = "");

}  // namespace dooly::validate::test
