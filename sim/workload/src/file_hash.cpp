#include "file_hash.hpp"

#include "oracle/sha256.hpp"
#include "workload/workload_error.hpp"

namespace dooly::workload {

std::string sha256_of_file(const std::filesystem::path& path) {
  try {
    return oracle::sha256_file(path);
  } catch (const std::runtime_error&) {
    throw WorkloadError(path.string() + ": cannot be read");
  }
}

}  // namespace dooly::workload
