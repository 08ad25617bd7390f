# Language, warnings, optimisation and sanitizers: what every object is compiled with.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 12)
  message(FATAL_ERROR "Weft needs gcc 12 or newer, this is ${CMAKE_C_COMPILER_VERSION}: set CC to a newer one")
elseif(CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "Weft needs clang 14 or newer, this is ${CMAKE_C_COMPILER_VERSION}: set CC to a newer one")
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
# As good as hidden for calls within a file, since none can be taken over; libweft's version script hides what isn't public, and the
# tests' library shows it.
set(CMAKE_C_VISIBILITY_PRESET protected)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# -g also in a release: call sites are named from debug information.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g -DNDEBUG")
set(CMAKE_C_FLAGS_DEBUG "-O1 -g")

add_compile_options(-Wall -Wextra -Wno-unused-parameter)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  # Says of each loop that was meant to be vectorised and isn't; what a loop costs is measured instead.
  add_compile_options(-Wno-pass-failed)
endif()
if(WEFT_WERROR)
  add_compile_options(-Werror)
endif()
# Numbers must not depend on the instruction set beyond what a kernel says itself: no contraction into fused multiply-add.
add_compile_options(-ffp-contract=off -fno-math-errno)

if(WEFT_SANITIZE)
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
endif()
if(WEFT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
