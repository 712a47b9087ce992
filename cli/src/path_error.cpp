#include "path_error.hpp"

namespace dooly::cli {

bool is_of_the_name(const std::system_error& error) {
  for (const std::errc reason :
       {std::errc::permission_denied, std::errc::operation_not_permitted, std::errc::too_many_symbolic_link_levels,
        std::errc::filename_too_long, std::errc::not_a_directory, std::errc::is_a_directory,
        std::errc::no_such_file_or_directory, std::errc::read_only_file_system})
    if (error.code() == reason) return true;
  return false;
}

}  // namespace dooly::cli
