#include "profiling_comm/machine.hpp"

#include "child_process.hpp"
#include "comm_libraries.hpp"
#include "line_socket.hpp"
#include "profiling_comm/rank_processes.hpp"
#include "profiling_measure/gpu_name.hpp"
#include "profiling_measure/nvml.hpp"
#include "profiling_sweep/sweep_error.hpp"

#include <fmt/format.h>

#include <exception>

namespace dooly::profiling {
namespace {

constexpr int kMultiprocessors = 16;  // cudaDevAttrMultiProcessorCount
constexpr char kBetween = '\t';

oracle::Environment environment_of_device(const CudaRuntime& cuda, const Nvml& nvml) {
  oracle::Environment environment;
  environment.gpu = table_gpu_name(nvml.gpu_name());
  environment.driver = nvml.driver();
  int value = 0;
  cuda.check(cuda.device_attribute(&value, kMultiprocessors, 0), "cudaDeviceGetAttribute");
  environment.multiprocessors = static_cast<std::uint32_t>(value);
  std::size_t free_bytes = 0, total_bytes = 0;
  cuda.check(cuda.memory_info(&free_bytes, &total_bytes), "cudaMemGetInfo");
  environment.memory_bytes = total_bytes;
  cuda.check(cuda.runtime_version(&value), "cudaRuntimeGetVersion");
  environment.cuda = std::to_string(value / 1000);
  environment.source = "measured";
  return environment;
}

CommMachine look() {
  const CudaRuntime cuda = load_cuda_runtime();
  int count = 0;
  cuda.check(cuda.device_count(&count), "cudaGetDeviceCount");
  const CommNccl nccl;
  CommMachine machine;
  std::vector<std::string> buses;
  for (int device = 0; device < count; ++device) {
    buses.push_back(cuda.bus_id(device));
    const Nvml nvml(buses.back());
    if (device == 0)
      machine.environment = environment_of_device(cuda, nvml);
    else if (table_gpu_name(nvml.gpu_name()) != machine.environment.gpu)
      throw SweepError(fmt::format("GPU {} is a {}, GPU 0 a {}: pick equal ones with CUDA_VISIBLE_DEVICES", device,
                                   table_gpu_name(nvml.gpu_name()), machine.environment.gpu));
  }
  machine.gpus = static_cast<std::uint32_t>(count);
  machine.environment.libraries["nccl"] = nccl.version();
  machine.links = read_links(buses);
  return machine;
}

}  // namespace

oracle::Environment CommMachine::environment_of(std::uint32_t ranks) const {
  oracle::Environment made = environment;
  made.topology = topology_text(links, ranks);
  return made;
}

std::string machine_text(const CommMachine& machine) {
  std::string text = canonical_json(machine.environment) + kBetween + std::to_string(machine.gpus);
  for (std::uint32_t i = 0; i < machine.gpus; ++i)
    for (std::uint32_t j = i + 1; j < machine.gpus; ++j) text += kBetween + machine.links[i][j];
  return text;
}

CommMachine parse_machine(std::string_view text) {
  const auto word = [&text] {
    const std::size_t end = std::min(text.find(kBetween), text.size());
    std::string taken(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return taken;
  };
  CommMachine machine;
  machine.environment = oracle::parse_environment(word());
  machine.gpus = static_cast<std::uint32_t>(std::stoul(word()));
  machine.links.assign(machine.gpus, std::vector<std::string>(machine.gpus));
  for (std::uint32_t i = 0; i < machine.gpus; ++i)
    for (std::uint32_t j = i + 1; j < machine.gpus; ++j) machine.links[i][j] = word();
  return machine;
}

CommMachine probe_machine() {
  forbid_multicast();
  ChildProcess process([](int socket) {
    const LineSocket lines(socket);
    try {
      lines.write("machine " + machine_text(look()));
      return 0;
    } catch (const std::exception& error) {
      lines.write("error " + in_one_line(error.what()));
      return 2;
    }
  });
  LineSocket lines(process.socket());
  const auto answer = lines.wait_line();
  if (!answer) throw SweepError("the process that looks for GPUs " + process.kill(std::chrono::seconds(1)));
  if (!answer->starts_with("machine ")) throw SweepError(answer->substr(answer->find(' ') + 1));
  return parse_machine(std::string_view(*answer).substr(8));
}

}  // namespace dooly::profiling
