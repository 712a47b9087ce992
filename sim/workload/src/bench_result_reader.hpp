#pragma once

#include "input_stream.hpp"
#include "workload/trace_reader.hpp"

#include <vector>

namespace dooly::workload {

/// The requests of a result file of `vllm bench serve --save-result --save-detailed`: one JSON object whose lists
/// `input_lens`, `output_lens` and `start_times` (seconds, any zero) have one entry a request. Kept: 16 bytes a
/// request. Given in order of their start; row N is the N-th entry of the lists.
class BenchResultReader : public TraceReader {
 public:
  explicit BenchResultReader(InputStream stream);
  bool next(TraceRow& row) override;

 private:
  std::vector<double> start_, input_, output_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
};

}  // namespace dooly::workload
