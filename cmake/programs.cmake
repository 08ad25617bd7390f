# Programs: build/weft, build/weft-replay, and one program an example. They see public headers only and link the shared library.

# weft_program(name folder): a program of all sources in the folder, in the build folder itself; nothing when there are none.
function(weft_program name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
  target_include_directories(${name} PRIVATE ${folder})
  target_link_libraries(${name} PRIVATE ${ARGN} weft_jansson m Threads::Threads)
endfunction()

set(weft_command_libraries weft)
if(TARGET weft-tools)
  list(PREPEND weft_command_libraries weft-tools)
endif()
# The target is called weft_command because the library has the name weft; the program is build/weft.
weft_program(weft_command tools/weft ${weft_command_libraries})
if(TARGET weft_command)
  set_target_properties(weft_command PROPERTIES OUTPUT_NAME weft)
endif()
weft_program(weft-replay tools/replay weft ZLIB::ZLIB)

# What is installed and run, without tests and examples.
add_custom_target(programs DEPENDS weft weft-dry weft-dry-nvml)
foreach(program weft_command weft-replay)
  if(TARGET ${program})
    add_dependencies(programs ${program})
  endif()
endforeach()

# Man pages, out of what the command says of itself. Programs under sanitizers say the same, only slower.
if(TARGET weft_command AND NOT WEFT_SANITIZE)
  set(WEFT_MAN ${CMAKE_BINARY_DIR}/man)
  add_custom_command(OUTPUT ${WEFT_MAN}/weft.1
    COMMAND sh ${PROJECT_SOURCE_DIR}/docs/man.sh $<TARGET_FILE:weft_command> ${WEFT_MAN}
    DEPENDS weft_command docs/man.sh docs/man.awk VERBATIM)
  add_custom_target(man ALL DEPENDS ${WEFT_MAN}/weft.1)
  add_dependencies(programs man)
endif()

if(WEFT_EXAMPLES)
  file(GLOB examples CONFIGURE_DEPENDS examples/*.c)
  foreach(source ${examples})
    get_filename_component(name ${source} NAME_WE)
    add_executable(example_${name} ${source})
    set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
    target_link_libraries(example_${name} PRIVATE weft m)
  endforeach()
endif()
