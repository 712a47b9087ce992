# SimGrid::SimGrid, from pkg-config: Debian ships no CMake package of it.
find_package(PkgConfig REQUIRED)
pkg_check_modules(SimGrid_PC IMPORTED_TARGET simgrid)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid
  REQUIRED_VARS SimGrid_PC_LINK_LIBRARIES
  VERSION_VAR SimGrid_PC_VERSION)
if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid ALIAS PkgConfig::SimGrid_PC)
endif()
