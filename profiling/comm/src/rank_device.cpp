#include "rank_device.hpp"

#include <algorithm>
#include <cstring>

namespace dooly::profiling {
namespace {

// CUDA Runtime API
constexpr unsigned kNonBlocking = 1;     // cudaStreamNonBlocking
constexpr int kThreadCapture = 1;        // cudaStreamCaptureModeThreadLocal: NCCL's own threads go on
constexpr unsigned kRecordExternal = 1;  // cudaEventRecordExternal: the host can read a captured event
constexpr int kSum = 0;                  // ncclSum
/// Ordinary numbers in all types (bfloat16: 0.0115). Results go to another buffer, so that sums do not grow.
constexpr int kFill = 0x3c;

}  // namespace

RankDevice::RankDevice(std::uint32_t rank, std::uint32_t ranks, SpinBarrier& barrier)
    : rank_(rank),
      ranks_(ranks),
      barrier_(&barrier) {
  const int device = static_cast<int>(rank);
  cuda_.check(cuda_.set_device(device), "cudaSetDevice");
  cuda_.check(cuda_.stream_create(&stream_, kNonBlocking), "cudaStreamCreateWithFlags");
  cuda_.check(cuda_.event_create(&start_), "cudaEventCreate");
  cuda_.check(cuda_.event_create(&stop_), "cudaEventCreate");
  if (rank == 0) nvml_ = std::make_unique<Nvml>(cuda_.bus_id(device));
}

RankDevice::~RankDevice() {
  drop_graph();
  if (communicator_ != nullptr) nccl_.destroy(communicator_);
}

std::string RankDevice::unique_id() const {
  CommNccl::UniqueId id{};
  nccl_.check(nccl_.get_unique_id(&id), "ncclGetUniqueId");
  return hex_of({id.bytes.data(), id.bytes.size()});
}

void RankDevice::join(const std::string& id) {
  const std::string bytes = bytes_of_hex(id);
  CommNccl::UniqueId unique{};
  std::memcpy(unique.bytes.data(), bytes.data(), std::min(bytes.size(), unique.bytes.size()));
  nccl_.check(nccl_.init_rank(&communicator_, static_cast<int>(ranks_), unique, static_cast<int>(rank_)),
              "ncclCommInitRank");
}

void RankDevice::buffers(const BufferBytes& bytes) {
  drop_graph();
  const auto fit = [this](void*& buffer, std::uint64_t& held, std::uint64_t wanted) {
    if (wanted <= held) return;
    if (buffer != nullptr) cuda_.check(cuda_.free(buffer), "cudaFree");
    buffer = nullptr;
    held = 0;
    cuda_.check(cuda_.malloc(&buffer, wanted), "cudaMalloc");
    held = wanted;
    cuda_.check(cuda_.memset(buffer, kFill, wanted), "cudaMemset");
  };
  fit(send_, held_.send, bytes.send);
  fit(receive_, held_.receive, bytes.receive);
}

void RankDevice::launch() {
  const int type = CommNccl::type_of(work_.collective.dtype);
  const std::size_t count = work_.bytes / element_bytes(work_.collective.dtype);
  const auto rank = static_cast<int>(rank_), ranks = static_cast<int>(ranks_);
  switch (work_.collective.kind) {
    case CollectiveKind::kAllReduce:
      return nccl_.check(nccl_.all_reduce(send_, receive_, count, type, kSum, communicator_, stream_), "ncclAllReduce");
    case CollectiveKind::kAllGather:
      return nccl_.check(nccl_.all_gather(send_, receive_, count, type, communicator_, stream_), "ncclAllGather");
    case CollectiveKind::kReduceScatter:
      return nccl_.check(nccl_.reduce_scatter(send_, receive_, count / ranks_, type, kSum, communicator_, stream_),
                         "ncclReduceScatter");
    case CollectiveKind::kAllToAll:
    case CollectiveKind::kSendRecv: break;
  }
  nccl_.check(nccl_.group_start(), "ncclGroupStart");
  if (work_.collective.kind == CollectiveKind::kSendRecv) {
    nccl_.check(nccl_.send(send_, count, type, (rank + 1) % ranks, communicator_, stream_), "ncclSend");
    nccl_.check(nccl_.receive(receive_, count, type, (rank + ranks - 1) % ranks, communicator_, stream_), "ncclRecv");
  } else {
    const std::uint64_t part = work_.bytes / ranks_;
    for (int peer = 0; peer < ranks; ++peer) {
      const std::uint64_t from = part * static_cast<std::uint64_t>(peer);
      nccl_.check(nccl_.send(static_cast<char*>(send_) + from, count / ranks_, type, peer, communicator_, stream_),
                  "ncclSend");
      nccl_.check(
          nccl_.receive(static_cast<char*>(receive_) + from, count / ranks_, type, peer, communicator_, stream_),
          "ncclRecv");
    }
  }
  nccl_.check(nccl_.group_end(), "ncclGroupEnd");
}

/// Back to back, a collective ahead of the first event brings the ranks together on their devices.
void RankDevice::launch_all(unsigned flags) {
  if (work_.mode == LaunchMode::kBackToBack) launch();
  cuda_.check(cuda_.event_record_flags(start_, stream_, flags), "cudaEventRecordWithFlags");
  for (std::uint32_t i = 0; i < work_.launches; ++i) launch();
  cuda_.check(cuda_.event_record_flags(stop_, stream_, flags), "cudaEventRecordWithFlags");
}

void RankDevice::drop_graph() {
  if (graph_ != nullptr) cuda_.graph_exec_destroy(graph_);
  graph_ = nullptr;
}

bool RankDevice::capture() {
  cuda_.check(cuda_.begin_capture(stream_, kThreadCapture), "cudaStreamBeginCapture");
  Handle graph = nullptr;
  try {
    launch_all(kRecordExternal);
  } catch (const std::exception&) {
    cuda_.end_capture(stream_, &graph);
    if (graph != nullptr) cuda_.graph_destroy(graph);
    cuda_.get_last_error();
    return false;
  }
  cuda_.check(cuda_.end_capture(stream_, &graph), "cudaStreamEndCapture");
  const int made = cuda_.graph_instantiate(&graph_, graph, 0);
  cuda_.graph_destroy(graph);
  cuda_.check(made, "cudaGraphInstantiate");
  return true;
}

bool RankDevice::prepare(const CommWork& work) {
  drop_graph();
  work_ = work;
  launch();  // connects the ranks and loads the kernel
  cuda_.check(cuda_.stream_synchronize(stream_), "cudaStreamSynchronize");
  return work.mode == LaunchMode::kBackToBack && capture();
}

double RankDevice::once(bool reads, DeviceReading& reading) {
  barrier_->wait(ranks_);
  if (graph_ != nullptr)
    cuda_.check(cuda_.graph_launch(graph_, stream_), "cudaGraphLaunch");
  else
    launch_all(0);
  if (reads) reading = nvml_->reading();
  cuda_.check(cuda_.stream_synchronize(stream_), "cudaStreamSynchronize");
  float milliseconds = 0;
  cuda_.check(cuda_.event_elapsed(&milliseconds, start_, stop_), "cudaEventElapsedTime");
  return static_cast<double>(milliseconds) * 1e-3 / work_.launches;
}

RankTimes RankDevice::run(std::uint32_t repetitions) {
  RankTimes times;
  for (std::uint32_t i = 0; i < repetitions; ++i)
    times.seconds.push_back(once(nvml_ && i + 1 == repetitions, times.reading));
  return times;
}

}  // namespace dooly::profiling
