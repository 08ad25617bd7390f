# The library: sources by folder, kernels once per instruction set, then libraries for users and one for tests.
file(GLOB WEFT_SOURCES CONFIGURE_DEPENDS src/*/*.c src/kernel/ref/*.c src/backend/*/*.c)
list(FILTER WEFT_SOURCES EXCLUDE REGEX "\\.isa\\.c$")
list(FILTER WEFT_SOURCES EXCLUDE REGEX "src/(audit|dryrun|report)/")
file(GLOB WEFT_ISA_SOURCES CONFIGURE_DEPENDS src/kernel/*.isa.c)

# Each *.isa.c is compiled once per instruction set, its names suffixed by WFK().
set(WEFT_ISA_OBJECTS)
if(WEFT_ISA_SOURCES AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(isa base avx2 avx512)
    add_library(weft_isa_${isa} OBJECT ${WEFT_ISA_SOURCES})
    target_include_directories(weft_isa_${isa} PRIVATE include src)
    target_compile_definitions(weft_isa_${isa} PRIVATE WF_ISA=${isa} WF_ISA_${isa}=1)
    if(TARGET weft_SLEEF)
      target_compile_definitions(weft_isa_${isa} PRIVATE WF_HAVE_SLEEF=1)
      target_link_libraries(weft_isa_${isa} PRIVATE weft_SLEEF)
    endif()
    # The vectoriser needs -O3, and leave to compute what a select then drops; nothing here reads floating-point exception
    # flags. Vectors wider
    # than the instruction set pass between inlined functions only, so no ABI depends on them.
    target_compile_options(weft_isa_${isa} PRIVATE $<$<CONFIG:Release>:-O3> -fno-trapping-math -Wno-psabi)
    list(APPEND WEFT_ISA_OBJECTS $<TARGET_OBJECTS:weft_isa_${isa}>)
  endforeach()
  target_compile_options(weft_isa_avx2 PRIVATE -mavx2 -mfma -mf16c)
  target_compile_options(weft_isa_avx512 PRIVATE -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mprefer-vector-width=512)
endif()

# One set of objects serves both forms.
add_library(weft_objects OBJECT ${WEFT_SOURCES})
target_include_directories(weft_objects PUBLIC include PRIVATE src)
target_compile_definitions(weft_objects PUBLIC ${WEFT_DEFINITIONS})
target_link_libraries(weft_objects PUBLIC ${WEFT_LIBRARIES})

add_library(weft SHARED $<TARGET_OBJECTS:weft_objects> ${WEFT_ISA_OBJECTS})
add_library(weft::weft ALIAS weft)
set_target_properties(weft PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/weft.map)
target_include_directories(weft PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(weft PRIVATE ${WEFT_LIBRARIES})
# Calls inside the library go straight to their target: no jump through the PLT, and none that another library could take over.
target_link_options(weft PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/weft.map -Wl,-Bsymbolic-functions)
if(NOT WEFT_SANITIZE)
  target_link_options(weft PRIVATE -Wl,-z,defs)
endif()

# Judges and reports: a library of its own beside the first, linked by the command. Of dryrun/ only what the command shares with the
# stand-in driver, which is loaded into other programs and links nothing of Weft.
file(GLOB WEFT_TOOLS_SOURCES CONFIGURE_DEPENDS src/audit/*.c src/dryrun/devices.c src/dryrun/*_assets.c src/report/*.c)
if(WEFT_TOOLS_SOURCES)
  add_library(weft_tools_objects OBJECT ${WEFT_TOOLS_SOURCES})
  target_include_directories(weft_tools_objects PRIVATE include src)
  # The page's style and script are files of their own, taken in by the assembler.
  set_source_files_properties(src/report/assets.c PROPERTIES
    COMPILE_DEFINITIONS "WF_REPORT_FOLDER=\"${PROJECT_SOURCE_DIR}/src/report\""
    OBJECT_DEPENDS "${PROJECT_SOURCE_DIR}/src/report/page.css;${PROJECT_SOURCE_DIR}/src/report/page.js")

  set_source_files_properties(src/audit/memory_assets.c PROPERTIES
    COMPILE_DEFINITIONS "WF_AUDIT_FOLDER=\"${PROJECT_SOURCE_DIR}/src/audit\""
    OBJECT_DEPENDS "${PROJECT_SOURCE_DIR}/src/audit/memory_page.js")

  set_source_files_properties(src/dryrun/dry_assets.c PROPERTIES
    COMPILE_DEFINITIONS "WF_DRYRUN_FOLDER=\"${PROJECT_SOURCE_DIR}/src/dryrun\""
    OBJECT_DEPENDS "${PROJECT_SOURCE_DIR}/src/dryrun/sitecustomize.py;${PROJECT_SOURCE_DIR}/src/dryrun/weft_dry.py;${PROJECT_SOURCE_DIR}/src/dryrun/weft_dry_objects.py;${PROJECT_SOURCE_DIR}/src/dryrun/self_test.py")

  add_library(weft-tools SHARED $<TARGET_OBJECTS:weft_tools_objects>)
  add_library(weft::weft-tools ALIAS weft-tools)
  set_target_properties(weft-tools PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                              LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/tools.map)
  target_link_options(weft-tools PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/tools.map)
  target_link_libraries(weft-tools PUBLIC weft PRIVATE m)
  if(NOT WEFT_SANITIZE)
    target_link_options(weft-tools PRIVATE -Wl,-z,defs)
  endif()
endif()

# All of it once more for tests, which reach internals: no version script, so each name that crosses files is shown. One file for all of
# them, since a copy in each program took 9 GB in the builds of one `./dev test`.
add_library(weft-internals SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:weft_objects> ${WEFT_ISA_OBJECTS})
target_include_directories(weft-internals PUBLIC include src)
target_compile_definitions(weft-internals PUBLIC ${WEFT_DEFINITIONS})
# Protected variables can't be copied into a program; this has it look at the library's.
target_compile_options(weft-internals INTERFACE -fPIC)
target_link_libraries(weft-internals PUBLIC ${WEFT_LIBRARIES})
if(WEFT_TOOLS_SOURCES)
  target_sources(weft-internals PRIVATE $<TARGET_OBJECTS:weft_tools_objects>)
endif()
