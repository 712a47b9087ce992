# What every target of ours is compiled with; link it PRIVATE.
add_library(dooly_options INTERFACE)
target_compile_options(dooly_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow
  $<$<BOOL:${DOOLY_WARNINGS_AS_ERRORS}>:-Werror>
  # The same bytes on every x86-64 machine: baseline instructions, no fused multiply-add.
  -march=x86-64 -ffp-contract=off
  # Untuned, GCC clears and copies structs of 100 bytes by string instructions, which take 30 cycles to start.
  -mtune=skylake)
if(DOOLY_SANITIZE)
  target_compile_options(dooly_options INTERFACE
    -fsanitize=${DOOLY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(dooly_options INTERFACE -fsanitize=${DOOLY_SANITIZE})
endif()
