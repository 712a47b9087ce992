# Defaults for a build that names none of them; presets and the command line win.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")

find_program(DOOLY_CCACHE ccache)
if(DOOLY_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${DOOLY_CCACHE}")
endif()

# bin/../share holds the shipped data and the pages in a build tree as in an installed one.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/share/dooly" "${PROJECT_BINARY_DIR}/share/doc/dooly")
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_BINARY_DIR}/share/doc/dooly/docs" SYMBOLIC)
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/scenarios" "${PROJECT_BINARY_DIR}/share/dooly/scenarios" SYMBOLIC)
file(CREATE_LINK "${PROJECT_SOURCE_DIR}/stores" "${PROJECT_BINARY_DIR}/share/dooly/stores" SYMBOLIC)
