#include "rank_worker.hpp"

#include "line_socket.hpp"
#include "rank_device.hpp"

#include <exception>
#include <new>
#include <sstream>

namespace dooly::profiling {
namespace {

std::string answer_to(RankDevice& device, const std::string& line, std::uint32_t ranks) {
  const std::size_t space = line.find(' ');
  const std::string verb = line.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : line.substr(space + 1);
  std::istringstream words(rest);
  if (verb == "id") return "id " + device.unique_id();
  if (verb == "join") {
    device.join(rest);
    return "done";
  }
  if (verb == "buffers") {
    BufferBytes bytes;
    words >> bytes.send >> bytes.receive;
    device.buffers(bytes);
    return "done";
  }
  if (verb == "prepare") return device.prepare(parse_prepare(rest, ranks)) ? "captured" : "launched";
  if (verb == "run") {
    std::uint32_t repetitions = 0;
    words >> repetitions;
    return times_answer(device.run(repetitions));
  }
  return "error unknown question '" + verb + "'";
}

}  // namespace

int serve_rank(int socket, std::uint32_t rank, std::uint32_t ranks, SpinBarrier& barrier) {
  LineSocket lines(socket);
  try {
    RankDevice device(rank, ranks, barrier);
    while (const auto line = lines.wait_line()) {
      if (*line == "quit") return 0;
      if (!lines.write(answer_to(device, *line, ranks))) break;
    }
    return 0;
  } catch (const std::bad_alloc&) {
    lines.write("memory out of memory");
  } catch (const std::exception& error) {
    lines.write("error " + in_one_line(error.what()));
  }
  return 2;
}

}  // namespace dooly::profiling
