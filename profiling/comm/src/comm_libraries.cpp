#include "comm_libraries.hpp"

#include "profiling_sweep/sweep_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace dooly::profiling {
namespace {

/// A library named by a variable, or where the loader or the Python environment in use has it.
struct Wanted {
  const char* file;
  const char* variable;
  const char* package;  ///< below site-packages
};
constexpr Wanted kCudart{"libcudart.so.13", "DOOLY_CUDART", "nvidia/cu13/lib"};
constexpr Wanted kNccl{"libnccl.so.2", "DOOLY_NCCL", "nvidia/nccl/lib"};

std::vector<std::string> python_copies(const Wanted& wanted) {
  std::vector<std::string> found;
  const char* root = std::getenv("VIRTUAL_ENV");
  std::error_code error;
  if (root == nullptr) return found;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(root) / "lib", error)) {
    const auto file = entry.path() / "site-packages" / wanted.package / wanted.file;
    if (std::filesystem::exists(file, error)) found.push_back(file.string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

SharedLibrary load(const Wanted& wanted) {
  if (const char* named = std::getenv(wanted.variable); named != nullptr && *named != 0) {
    SharedLibrary library(named);
    if (!library.is_loaded()) throw SweepError(fmt::format("${}: cannot load '{}'", wanted.variable, named));
    return library;
  }
  std::vector<std::string> places{wanted.file};
  for (const std::string& copy : python_copies(wanted)) places.push_back(copy);
  for (const std::string& place : places)
    if (const SharedLibrary library(place.c_str()); library.is_loaded()) return library;
  throw SweepError(
      fmt::format("{} is not found; name it by ${} (the Python package's copy lies in site-packages/{}) or put its "
                  "folder into LD_LIBRARY_PATH",
                  wanted.file, wanted.variable, wanted.package));
}

template <typename Function>
void bind(const SharedLibrary& library, const char* file, const char* name, Function*& into) {
  into = library.find<Function>(name);
  if (into == nullptr) throw SweepError(fmt::format("{} lacks {}", file, name));
}

}  // namespace

CudaRuntime load_cuda_runtime() {
  const SharedLibrary library = load(kCudart);
  try {
    return CudaRuntime(library);
  } catch (const std::runtime_error& lacking) {
    throw SweepError(lacking.what());
  }
}

void forbid_multicast() { ::setenv("NCCL_NVLS_ENABLE", "0", 1); }

CommNccl::CommNccl() : library_((forbid_multicast(), load(kNccl))) {
  const auto find = [&](const char* name, auto*& into) { bind(library_, kNccl.file, name, into); };
  find("ncclGetVersion", get_version);
  find("ncclGetUniqueId", get_unique_id);
  find("ncclCommInitRank", init_rank);
  find("ncclCommDestroy", destroy);
  find("ncclAllReduce", all_reduce);
  find("ncclAllGather", all_gather);
  find("ncclReduceScatter", reduce_scatter);
  find("ncclSend", send);
  find("ncclRecv", receive);
  find("ncclGroupStart", group_start);
  find("ncclGroupEnd", group_end);
  find("ncclGetErrorString", get_error_string);
  get_last_error = library_.find<const char*(Communicator)>("ncclGetLastError");
}

void CommNccl::check(int status, const char* call) const {
  if (status == 0) return;
  const char* more = get_last_error != nullptr ? get_last_error(nullptr) : nullptr;
  throw std::runtime_error(fmt::format("{}: {} ({}){}{}", call, get_error_string(status), status,
                                       more != nullptr && *more != 0 ? ": " : "", more != nullptr ? more : ""));
}

std::string CommNccl::version() const {
  int code = 0;
  check(get_version(&code), "ncclGetVersion");
  if (code < 10000) return fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);  // before 2.9
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

int CommNccl::type_of(const std::string& dtype) {
  if (dtype == "int8") return 0;
  if (dtype == "float16") return 6;
  if (dtype == "float32") return 7;
  if (dtype == "bfloat16") return 9;
  if (dtype == "fp8") return 10;  // ncclFloat8e4m3
  throw std::runtime_error("NCCL has no type for '" + dtype + "'");
}

}  // namespace dooly::profiling
