// Stands for libcuda, libcudart, libnccl and libnvidia-ml: GPUs whose streams have clocks of their own, which launches
// move by a known law. What it does is said by the environment:
//   FAKE_GPUS=4                  GPUs of the machine
//   FAKE_DRIVER_ERROR=N          what the driver answers when it is started
//   FAKE_MEMORY=BYTES            of each, for cudaMalloc
//   FAKE_CRASH=BYTES:RANK        that rank aborts at a message of so many bytes
//   FAKE_HANG=BYTES:RANK         it sleeps for ever
//   FAKE_ERROR=BYTES:RANK        its call fails
//   FAKE_NO_CAPTURE=1            calls fail while a stream is captured
//   FAKE_PCIE=1                  no NVLink
//   FAKE_WAIT_US=N               real time that each wait for a stream takes
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

struct UniqueId {
  char bytes[128];
};

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};

enum class Step { kWork, kRecord };
struct Launch {
  Step step = Step::kWork;
  double seconds = 0;
  double* event = nullptr;
};

struct State {
  double now = 0;  // of the stream
  bool captures = false, groups = false;
  std::vector<Launch> captured;
  std::size_t group_bytes = 0;
  std::size_t held = 0;
  std::map<void*, std::size_t> memory;
  int rank = 0, ranks = 1;
} state;

constexpr int kFailed = 1, kOutOfMemory = 2;

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atol(text) : otherwise;
}

bool is_meant(const char* name, std::size_t bytes) {
  const char* text = std::getenv(name);
  std::size_t at = 0;
  int rank = 0;
  return text != nullptr && std::sscanf(text, "%zu:%d", &at, &rank) == 2 && at == bytes && rank == state.rank;
}

/// 10 us and 1 us for each rank before this one, 100 GB/s; 8 us more from 512 KiB, where another protocol begins.
double law(std::size_t bytes) {
  constexpr std::size_t kOther = 512 * 1024;
  return 10e-6 + 1e-6 * state.rank + static_cast<double>(bytes) / 100e9 + (bytes >= kOther ? 8e-6 : 0);
}

int launch(std::size_t bytes) {
  if (state.captures && number("FAKE_NO_CAPTURE", 0) != 0) return kFailed;
  if (is_meant("FAKE_ERROR", bytes)) return kFailed;
  if (is_meant("FAKE_CRASH", bytes)) std::abort();
  if (is_meant("FAKE_HANG", bytes)) ::pause();
  if (state.captures)
    state.captured.push_back({Step::kWork, law(bytes), nullptr});
  else
    state.now += law(bytes);
  return 0;
}

std::size_t bytes_of(std::size_t count, int type) { return count * (type == 7 ? 4 : type == 9 || type == 6 ? 2 : 1); }

int device_of(const char* bus) {
  unsigned domain = 0, number_of_bus = 0;
  return std::sscanf(bus, "%x:%x", &domain, &number_of_bus) == 2 ? static_cast<int>(number_of_bus) - 1 : -1;
}

}  // namespace

extern "C" {

// CUDA runtime
int cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(number("FAKE_GPUS", 4));
  return *count > 0 ? 0 : 100;
}
int cuInit(unsigned) { return static_cast<int>(number("FAKE_DRIVER_ERROR", 0)); }  // of the driver
int cuDeviceGetCount(int* count) { return cudaGetDeviceCount(count); }
int cudaSetDevice(int) { return 0; }
int cudaMalloc(void** into, std::size_t bytes) {
  if (state.held + bytes > static_cast<std::size_t>(number("FAKE_MEMORY", 1L << 40))) return kOutOfMemory;
  *into = std::malloc(1);
  state.memory[*into] = bytes;
  state.held += bytes;
  return 0;
}
int cudaFree(void* memory) {
  state.held -= state.memory[memory];
  state.memory.erase(memory);
  std::free(memory);
  return 0;
}
int cudaMemset(void*, int, std::size_t) { return 0; }
int cudaStreamCreateWithFlags(void** stream, unsigned) {
  *stream = &state;
  return 0;
}
int cudaStreamSynchronize(void*) {
  if (const long wait = number("FAKE_WAIT_US", 0); wait > 0) ::usleep(static_cast<useconds_t>(wait));
  return 0;
}
int cudaStreamBeginCapture(void*, int) {
  state.captures = true;
  state.captured.clear();
  return 0;
}
int cudaStreamEndCapture(void*, void** graph) {
  state.captures = false;
  *graph = new std::vector<Launch>(state.captured);
  return 0;
}
int cudaGraphInstantiate(void** made, void* graph, unsigned long long) {
  *made = new std::vector<Launch>(*static_cast<std::vector<Launch>*>(graph));
  return 0;
}
int cudaGraphLaunch(void* graph, void*) {
  for (const Launch& each : *static_cast<std::vector<Launch>*>(graph)) {
    if (each.step == Step::kWork)
      state.now += each.seconds;
    else
      *each.event = state.now;
  }
  return 0;
}
int cudaGraphExecDestroy(void* graph) {
  delete static_cast<std::vector<Launch>*>(graph);
  return 0;
}
int cudaGraphDestroy(void* graph) { return cudaGraphExecDestroy(graph); }
int cudaEventCreate(void** event) {
  *event = new double(0);
  return 0;
}
int cudaEventRecordWithFlags(void* event, void*, unsigned flags) {
  if ((flags == 1) != state.captures) return kFailed;
  if (state.captures)
    state.captured.push_back({Step::kRecord, 0, static_cast<double*>(event)});
  else
    *static_cast<double*>(event) = state.now;
  return 0;
}
int cudaEventRecord(void* event, void* stream) { return cudaEventRecordWithFlags(event, stream, 0); }
int cudaEventSynchronize(void*) { return 0; }
int cudaEventDestroy(void*) { return 0; }
int cudaEventElapsedTime(float* milliseconds, void* from, void* to) {
  *milliseconds = static_cast<float>((*static_cast<double*>(to) - *static_cast<double*>(from)) * 1e3);
  return 0;
}
int cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  *free_bytes = *total = 150ul << 30;
  return 0;
}
int cudaDeviceGetAttribute(int* value, int, int) {
  *value = 132;
  return 0;
}
int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", device + 1);
  return 0;
}
int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cudaGetLastError() { return 0; }
const char* cudaGetErrorString(int) { return "fake error"; }

// NCCL
int ncclGetVersion(int* version) {
  *version = 22809;
  return 0;
}
int ncclGetUniqueId(UniqueId* id) {
  for (int i = 0; i < 128; ++i) id->bytes[i] = static_cast<char>(i * 7);
  return 0;
}
/// Refuses a wrong identifier, and a process in which multicast is not forbidden.
int ncclCommInitRank(void** communicator, int ranks, UniqueId id, int rank) {
  const char* multicast = std::getenv("NCCL_NVLS_ENABLE");
  if (multicast == nullptr || std::strcmp(multicast, "0") != 0) return 5;
  for (int i = 0; i < 128; ++i)
    if (id.bytes[i] != static_cast<char>(i * 7)) return 4;
  state.rank = rank;
  state.ranks = ranks;
  *communicator = &state;
  return is_meant("FAKE_ERROR", 0) ? 2 : 0;
}
int ncclCommDestroy(void*) { return 0; }
int ncclAllReduce(const void*, void*, std::size_t count, int type, int, void*, void*) {
  return launch(bytes_of(count, type));
}
int ncclAllGather(const void*, void*, std::size_t count, int type, void*, void*) {
  return launch(bytes_of(count, type) * static_cast<std::size_t>(state.ranks));
}
int ncclReduceScatter(const void*, void*, std::size_t count, int type, int, void*, void*) {
  return launch(bytes_of(count, type) * static_cast<std::size_t>(state.ranks));
}
int ncclSend(const void*, std::size_t count, int type, int, void*, void*) {
  state.group_bytes += bytes_of(count, type);
  return 0;
}
int ncclRecv(void*, std::size_t, int, int, void*, void*) { return 0; }
int ncclGroupStart() {
  state.group_bytes = 0;
  return 0;
}
int ncclGroupEnd() { return launch(state.group_bytes); }
const char* ncclGetErrorString(int) { return "fake NCCL error"; }
const char* ncclGetLastError(void*) { return "the reason"; }

// NVML
int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  std::snprintf(text, length, "580.1");
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = reinterpret_cast<void*>(static_cast<std::intptr_t>(device_of(bus) + 1));
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned length) {
  std::snprintf(text, length, "NVIDIA H200");
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* value) {
  *value = 1980;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, int* is_active) {
  if (link >= 18) return 2;
  *is_active = number("FAKE_PCIE", 0) == 0 ? 1 : 0;
  return 0;
}
int nvmlDeviceGetNvLinkVersion(void*, unsigned, unsigned* version) {
  *version = 6;  // NVML_NVLINK_VERSION_4_0
  return 0;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, int* type) {
  *type = 2;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned link, PciInfo* remote) {
  std::snprintf(remote->bus_id, sizeof remote->bus_id, "00000000:%02X:00.0", 0xc0 + link % 4);
  return 0;
}
int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = number("FAKE_PCIE", 0) == 0 ? 0 : 5;
  return 0;
}
int nvmlDeviceGetTopologyCommonAncestor(void* from, void* to, int* level) {
  const auto pair = [](void* device) { return (reinterpret_cast<std::intptr_t>(device) - 1) / 2; };
  *level = pair(from) == pair(to) ? 10 : 50;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) {
  *value = 5;
  return 0;
}
int nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) {
  *value = 16;
  return 0;
}

}  // extern "C"
