# Flags of every target of the project, as the interface target moeg_flags.
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(moeg_flags INTERFACE)
# No contraction: the same operations, hence the same bits, whatever the compiler fuses. Never -ffast-math.
target_compile_options(moeg_flags INTERFACE -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wcast-qual -Wvla -ffp-contract=off $<$<BOOL:${MOEG_WERROR}>:-Werror>)
target_compile_definitions(moeg_flags INTERFACE _POSIX_C_SOURCE=200809L)
if(MOEG_SANITIZE)
    # Fuzzers are steered through the parsers (src/CMakeLists.txt): numerical loops that count their steps only crawl.
    string(REGEX REPLACE ",?fuzzer-no-link" "" sanitizers "${MOEG_SANITIZE}")
    target_compile_options(moeg_flags INTERFACE -fsanitize=${sanitizers} -fno-sanitize-recover=all
        -fno-omit-frame-pointer)
    target_link_options(moeg_flags INTERFACE -fsanitize=${MOEG_SANITIZE})
endif()
