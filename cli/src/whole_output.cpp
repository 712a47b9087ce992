#include "whole_output.hpp"

#include "files/errors.hpp"
#include "files/whole_directory.hpp"
#include "oracle_store/store_error.hpp"

#include <string>

namespace dooly::cli {

void write_whole_directory(const std::filesystem::path& path,
                           const std::function<void(const std::filesystem::path&)>& fill) {
  const auto nothing_was = [&](const std::exception& error) {
    return files::WriteFailed(path.string() + ": nothing was written: " + error.what());
  };
  try {
    files::WholeDirectory whole(path);
    fill(whole.temporary());
    whole.finish();
  } catch (const store::StoreWriteFailed& error) {
    throw nothing_was(error);
  } catch (const files::WriteFailed& error) {
    throw nothing_was(error);
  }
}

}  // namespace dooly::cli
