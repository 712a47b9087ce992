#include "profiling_measure/gpu_check.hpp"

#include "profiling_measure/shared_library.hpp"

#include <fmt/format.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace dooly::profiling {
namespace {

constexpr int kSuccess = 0, kNoDevice = 100;  // CUDA_SUCCESS, CUDA_ERROR_NO_DEVICE

std::string no_device() {
  std::string text = "NVIDIA's driver shows none";
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"))
    text += fmt::format(", with CUDA_VISIBLE_DEVICES='{}'", visible);
  return text;
}

std::string ask_driver() {
  const SharedLibrary driver("libcuda.so.1");
  if (!driver.is_loaded()) return "NVIDIA's driver is not installed (libcuda.so.1 cannot be loaded)";
  auto* initialise = driver.find<int(unsigned)>("cuInit");
  auto* device_count = driver.find<int(int*)>("cuDeviceGetCount");
  if (initialise == nullptr || device_count == nullptr) return "libcuda.so.1 is not NVIDIA's driver";
  int count = 0;
  int status = initialise(0);
  if (status == kSuccess) status = device_count(&count);
  if (status == kNoDevice || (status == kSuccess && count < 1)) return no_device();
  return status == kSuccess ? std::string() : fmt::format("NVIDIA's driver answers CUDA error {}", status);
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = ::write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) return;
    if (written > 0) done += static_cast<std::size_t>(written);
  }
}

std::string read_all(int descriptor) {
  std::string text;
  for (char buffer[512];;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got == 0) return text;
    if (got < 0 && errno != EINTR) return text;
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

std::string why_no_gpu() {
  int ends[2];
  if (::pipe(ends) != 0) return ask_driver();
  const pid_t child = ::fork();
  if (child == 0) {
    write_all(ends[1], ask_driver());
    ::_exit(0);  // nothing of the parent's is flushed twice
  }
  ::close(ends[1]);
  std::string why = child < 0 ? ask_driver() : read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (why.empty() && child > 0 && status != 0) why = "NVIDIA's driver ends the process that asks it";
  return why;
}

}  // namespace dooly::profiling
