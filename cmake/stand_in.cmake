# The stand-in for the CUDA driver: libweft-dry.so, loaded before all others into programs that run dry, and NVIDIA's management library
# beside it. They link nothing of Weft's: what they use of base/ and format/ is in them.
file(GLOB WEFT_DRY_SOURCES CONFIGURE_DEPENDS src/dryrun/*.c src/base/*.c)
list(FILTER WEFT_DRY_SOURCES EXCLUDE REGEX "_assets\\.c$|/nvml\\.c$")
list(APPEND WEFT_DRY_SOURCES src/format/atomic_file.c src/format/json_writer.c src/format/string_set.c src/format/text.c)

add_library(weft-dry SHARED ${WEFT_DRY_SOURCES})
set_target_properties(weft-dry PROPERTIES NO_SONAME ON LINK_DEPENDS "${PROJECT_SOURCE_DIR}/cmake/dry.map")
set_source_files_properties(src/dryrun/entries.c PROPERTIES OBJECT_DEPENDS ${PROJECT_SOURCE_DIR}/src/dryrun/entries.def)
# Entry points of different generations share names, and C knows some of them with other arguments.
target_compile_options(weft-dry PRIVATE -fno-builtin)
target_link_libraries(weft-dry PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
target_link_options(weft-dry PRIVATE -Wl,-soname,libcuda.so.1 -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/dry.map)

add_library(weft-dry-nvml SHARED src/dryrun/nvml.c)
set_target_properties(weft-dry-nvml PROPERTIES NO_SONAME ON INSTALL_RPATH "$ORIGIN")
target_link_options(weft-dry-nvml PRIVATE -Wl,-soname,libnvidia-ml.so.1)
target_link_libraries(weft-dry-nvml PRIVATE weft-dry)

foreach(library weft-dry weft-dry-nvml)
  target_include_directories(${library} PRIVATE include src)
  set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endforeach()

# Programs that link it look for it by the driver's name.
set(WEFT_DRY_FOLDER ${CMAKE_BINARY_DIR}/stand-in)
add_custom_command(TARGET weft-dry POST_BUILD
  COMMAND ${CMAKE_COMMAND} -E make_directory ${WEFT_DRY_FOLDER}
  COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_FILE:weft-dry> ${WEFT_DRY_FOLDER}/libcuda.so.1 VERBATIM)
