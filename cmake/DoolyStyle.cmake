# Formatting and static analysis, with the tools of clang 16 (14 rejects C++20 that g++ 12 takes).
add_custom_target(format COMMAND "${PROJECT_SOURCE_DIR}/scripts/format" USES_TERMINAL)
add_custom_target(tidy COMMAND "${PROJECT_SOURCE_DIR}/scripts/tidy" "${PROJECT_BINARY_DIR}" USES_TERMINAL)

if(DOOLY_BUILD_TESTS AND NOT DOOLY_SANITIZE)
  add_test(NAME style.format COMMAND "${PROJECT_SOURCE_DIR}/scripts/format" --check)
  add_test(NAME style.tidy COMMAND "${PROJECT_SOURCE_DIR}/scripts/tidy" "${PROJECT_BINARY_DIR}")
  set_tests_properties(style.format style.tidy PROPERTIES LABELS style SKIP_RETURN_CODE 77)
  set_tests_properties(style.tidy PROPERTIES TIMEOUT 900)
endif()
