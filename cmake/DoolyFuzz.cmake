# dooly_fuzz(NAME name SOURCES fuzz_x.cpp … ROOMS room … CORPUS folder [SECONDS n] [DICTIONARY file])
#
# A libFuzzer program, built by clang 16 with address and undefined behaviour sanitizers inside the g++ tree: the
# sources of ROOMS are compiled once more with instrumentation; what the rooms link comes as it is. Its ctest entry
# (label fuzz) starts from the committed CORPUS, runs n seconds (default 10) and keeps what it finds in the build tree.
find_program(DOOLY_FUZZ_CLANG clang++-16)

function(dooly_fuzz)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;CORPUS;SECONDS;DICTIONARY" "SOURCES;ROOMS")
  if(DOOLY_SANITIZE)  # the two sanitizer run-times do not mix
    return()
  endif()
  if(NOT DOOLY_FUZZ_CLANG)
    add_test(NAME fuzz.${arg_NAME} COMMAND sh -c "echo 'SKIP: fuzzing needs clang++-16'; exit 77")
    set_tests_properties(fuzz.${arg_NAME} PROPERTIES LABELS fuzz SKIP_RETURN_CODE 77)
    return()
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 10)
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  foreach(room IN LISTS arg_ROOMS)
    get_target_property(sources ${room} SOURCES)
    get_target_property(folder ${room} SOURCE_DIR)
    list(TRANSFORM sources PREPEND "${folder}/")
    target_sources(${arg_NAME} PRIVATE ${sources})
    target_include_directories(${arg_NAME} PRIVATE $<TARGET_PROPERTY:${room},INCLUDE_DIRECTORIES>)
    target_link_libraries(${arg_NAME} PRIVATE $<TARGET_PROPERTY:${room},LINK_LIBRARIES>)
  endforeach()
  set(instrumentation -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  target_compile_options(${arg_NAME} PRIVATE -w -O1 -g1 ${instrumentation})
  target_link_options(${arg_NAME} PRIVATE ${instrumentation})
  set(clang "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/instead-of" ${DOOLY_FUZZ_CLANG})
  set_target_properties(${arg_NAME} PROPERTIES
    CXX_COMPILER_LAUNCHER "${clang};${CMAKE_CXX_COMPILER_LAUNCHER}"
    CXX_LINKER_LAUNCHER "${clang}"
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test-bin")

  set(found "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}-found")
  file(MAKE_DIRECTORY "${found}")
  set(options -seed=1 -max_total_time=${arg_SECONDS} -timeout=10 -rss_limit_mb=2048
    "-artifact_prefix=${found}/" -print_final_stats=1)
  if(arg_DICTIONARY)
    list(APPEND options "-dict=${CMAKE_CURRENT_SOURCE_DIR}/${arg_DICTIONARY}")
  endif()
  math(EXPR timeout "${arg_SECONDS} + 120")
  add_test(NAME fuzz.${arg_NAME} COMMAND ${arg_NAME} ${options} "${found}" "${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS}")
  set_tests_properties(fuzz.${arg_NAME} PROPERTIES LABELS fuzz TIMEOUT ${timeout})
endfunction()
