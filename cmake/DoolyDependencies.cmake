# Third-party packages. Each room links only those that it names; nothing is downloaded.
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
find_package(SimGrid REQUIRED)  # cmake/FindSimGrid.cmake: SimGrid::SimGrid
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Boost REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)  # PkgConfig::zstd
pkg_check_modules(rocksdb REQUIRED IMPORTED_TARGET rocksdb)  # PkgConfig::rocksdb
if(NOT TARGET yaml-cpp::yaml-cpp)  # before yaml-cpp 0.8 the target has no namespace
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
