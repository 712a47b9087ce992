#include "profiling_sweep/portable_archive.hpp"

#include "oracle_store/store_error.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace dooly::profiling {

PortableArchive::PortableArchive(const std::filesystem::path& path)
    : journal_(path.string() + ".journal"),
      sink_(path) {}

void PortableArchive::note(const std::string& json) {
  std::ofstream file(journal_, std::ios::app);
  file << json << '\n';
  file.flush();
  if (!file) throw store::StoreWriteFailed(journal_.string() + ": cannot be written: " + std::strerror(errno));
}

}  // namespace dooly::profiling
