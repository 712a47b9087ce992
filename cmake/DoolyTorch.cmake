# LibTorch from PyPI's wheel (scripts/torch fetches it; the GPU machine has it): target dooly::torch.
#
# Only libtorch_cpu and libc10 are linked: libtorch_cuda would pull in cuDNN, NCCL and more. Programs that want a GPU
# load it while running (profiling/kernels: load_cuda()), so one binary serves machines with and without.
set(DOOLY_TORCH_VERSION 2.11.0)
set(DOOLY_TORCH_DIR "" CACHE PATH "Folder that holds the Python package torch; empty: where scripts/torch puts it")
if(DOOLY_TORCH_DIR)
  set(torch_root "${DOOLY_TORCH_DIR}")
else()
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/torch" --where
    OUTPUT_VARIABLE torch_root OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
if(NOT EXISTS "${torch_root}/torch/lib/libtorch_cpu.so")
  message(FATAL_ERROR "DOOLY_PROFILING needs LibTorch ${DOOLY_TORCH_VERSION}, not found in ${torch_root}: run "
    "scripts/torch, or name the folder that holds the Python package by -DDOOLY_TORCH_DIR=…")
endif()
file(STRINGS "${torch_root}/torch/version.py" torch_version REGEX "^__version__ *=")
if(NOT torch_version MATCHES "['\"]${DOOLY_TORCH_VERSION}")
  message(FATAL_ERROR "DOOLY_PROFILING needs LibTorch ${DOOLY_TORCH_VERSION}; ${torch_root} has ${torch_version}")
endif()

add_library(dooly_torch INTERFACE)
add_library(dooly::torch ALIAS dooly_torch)
# The wheel brings headers of another {fmt} without its library: ours come first.
find_path(fmt_headers fmt/core.h REQUIRED)
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/torch-include")
file(CREATE_LINK "${fmt_headers}/fmt" "${CMAKE_BINARY_DIR}/torch-include/fmt" SYMBOLIC)
target_include_directories(dooly_torch SYSTEM INTERFACE "${CMAKE_BINARY_DIR}/torch-include"
  "${torch_root}/torch/include" "${torch_root}/torch/include/torch/csrc/api/include")
# NDEBUG as the wheel: inline checks differ otherwise. The wheel brings headers of another {fmt} than the system's, which
# are found first: they must not want that one's library.
target_compile_definitions(dooly_torch INTERFACE NDEBUG FMT_HEADER_ONLY)
target_link_libraries(dooly_torch INTERFACE "${torch_root}/torch/lib/libtorch_cpu.so" "${torch_root}/torch/lib/libc10.so")
# Types of CUDA's runtime that headers of LibTorch's CUDA half name; nothing of it is linked.
find_path(DOOLY_CUDA_HEADERS cuda_runtime_api.h HINTS "${torch_root}/nvidia/cu13/include" /usr/local/cuda/include
  DOC "Folder of cuda_runtime_api.h (of the wheel nvidia-cuda-runtime or a CUDA 13 toolkit)" REQUIRED)
# libtorch_cpu needs libcudart and libcupti: of the wheels beside it, or of the machine's CUDA toolkit.
target_link_options(dooly_torch INTERFACE "-Wl,-rpath-link,${torch_root}/nvidia/cu13/lib" "-Wl,--allow-shlib-undefined")

# dooly_torch_room(TARGET [OTHER]): precompiled LibTorch headers, a set of its own or that of the room OTHER; ccache has
# to be told that they are fine.
function(dooly_torch_room target)
  target_link_libraries(${target} PUBLIC dooly::torch)
  if(ARGC GREATER 1)
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  else()
    target_precompile_headers(${target} PRIVATE
      <ATen/ATen.h> <ATen/core/dispatch/Dispatcher.h> <torch/library.h> <algorithm> <map> <string> <vector>)
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
  # Each header compiled alone would cost half a minute; their own sources include them first.
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS OFF)
endfunction()
