// Every reader of files in the workload room. The first byte says what the rest is:
//   c  a trace of any format, to convert as it stands     s  the same, to sort
//   g  client statistics, a line `=====`, their lengths     n  a file of numbers
// What converts must read back, and converting that again must change nothing.
#include "number_file.hpp"
#include "workload/convert.hpp"
#include "workload/workload.hpp"
#include "workload/workload_error.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

namespace {

using namespace dooly;
using namespace dooly::workload;

/// Bytes as a file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("input", 0)) {
    if (descriptor_ < 0 || write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::string converted(std::string_view bytes, bool sort) {
  const MemoryFile file(bytes);
  std::ostringstream out;
  ConvertOptions options;
  options.input = file.path();
  options.sort = sort;
  convert_trace(options, out);
  return out.str();
}

void convert_twice(std::string_view bytes, bool sort) {
  const std::string once = converted(bytes, sort);
  std::string twice;
  try {
    twice = converted(once, false);
  } catch (const WorkloadError&) {
    std::abort();  // what was written must be readable
  }
  if (converted(twice, false) != twice) std::abort();
}

void draw_clients(std::string_view bytes) {
  const std::size_t split = bytes.find("=====\n");
  if (split == bytes.npos) return;
  const MemoryFile rates(bytes.substr(0, split)), lengths(bytes.substr(split + 6));
  scenario::TraceSpec trace;
  trace.format = "servegen";
  trace.path = rates.path();
  trace.lengths_path = lengths.path();
  trace.limit = 200;
  scenario::WorkloadSpec spec;
  spec.name = "fuzz";
  spec.source = trace;
  const auto source = make_workload({spec}, 1);
  Request request;
  double last_s = 0;
  while (source->next_arrival_s() < kNever) {
    source->take(request);
    if (request.arrival_s < last_s || request.prompt_tokens == 0 || request.output_tokens == 0) std::abort();
    last_s = request.arrival_s;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    switch (data[0]) {
      case 'c': convert_twice(bytes, false); break;
      case 's': convert_twice(bytes, true); break;
      case 'g': draw_clients(bytes); break;
      case 'n': {
        const MemoryFile file(bytes);
        read_numbers(file.path(), "arrival_s", [](double) {});
        break;
      }
      default: break;
    }
  } catch (const WorkloadError&) {  // a precise refusal is a right answer; anything else ends the fuzzer
  }
  return 0;
}
