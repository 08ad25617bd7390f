# Libraries, by the job that they do. Where one is optional, WEFT_WITH_<NAME>=OFF leaves its part out, and WF_HAVE_<NAME> tells the
# sources. ./dev installs the packages.
find_package(OpenMP REQUIRED COMPONENTS C)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

option(WEFT_WITH_OPENBLAS "Matrix products of f32 and f64 by OpenBLAS" ON)
option(WEFT_WITH_DNNL "Convolution, pooling and normalisation by oneDNN" ON)
option(WEFT_WITH_SLEEF "Logarithms, circular functions and powers of f64 by SLEEF" ON)
option(WEFT_WITH_LIBDW "Names of call sites from debug information, by libdw" ON)

set(WEFT_LIBRARIES OpenMP::OpenMP_C Threads::Threads ZLIB::ZLIB m ${CMAKE_DL_LIBS})
set(WEFT_DEFINITIONS)

# weft_dependency(NAME header library [folder…]): makes the target weft_<NAME> when WEFT_WITH_<NAME> is on. The folders, relative
# to the system's include and library folders, are looked at first.
function(weft_dependency name header library)
  if(NOT WEFT_WITH_${name})
    return()
  endif()
  find_path(WEFT_${name}_INCLUDE ${header} PATH_SUFFIXES ${ARGN})
  find_library(WEFT_${name}_LIBRARY ${library} PATH_SUFFIXES ${ARGN})
  mark_as_advanced(WEFT_${name}_INCLUDE WEFT_${name}_LIBRARY)
  if(NOT WEFT_${name}_INCLUDE OR NOT WEFT_${name}_LIBRARY)
    message(FATAL_ERROR "${header} or lib${library} is missing: `./dev setup` installs it, -DWEFT_WITH_${name}=OFF does without it")
  endif()
  add_library(weft_${name} INTERFACE)
  target_include_directories(weft_${name} SYSTEM INTERFACE ${WEFT_${name}_INCLUDE})
  target_link_libraries(weft_${name} INTERFACE ${WEFT_${name}_LIBRARY})
  set(WEFT_LIBRARIES ${WEFT_LIBRARIES} weft_${name} PARENT_SCOPE)
  set(WEFT_DEFINITIONS ${WEFT_DEFINITIONS} WF_HAVE_${name}=1 PARENT_SCOPE)
endfunction()

# By its own folder: under the system's name, Debian's alternatives prefer the pthread build, whose second team of threads beside
# OpenMP's makes kernels 1.5 times slower. The folder goes into the run path as well.
weft_dependency(OPENBLAS cblas.h openblas openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp)
weft_dependency(DNNL dnnl.h dnnl)
weft_dependency(SLEEF sleef.h sleef)
weft_dependency(LIBDW elfutils/libdwfl.h dw)

# Documents in JSON: headers of safetensors files in the library, cases and reports in programs and tests.
find_path(WEFT_JANSSON_INCLUDE jansson.h)
find_library(WEFT_JANSSON_LIBRARY jansson)
mark_as_advanced(WEFT_JANSSON_INCLUDE WEFT_JANSSON_LIBRARY)
if(NOT WEFT_JANSSON_INCLUDE OR NOT WEFT_JANSSON_LIBRARY)
  message(FATAL_ERROR "jansson is missing: `./dev setup` installs it")
endif()
add_library(weft_jansson INTERFACE)
target_include_directories(weft_jansson SYSTEM INTERFACE ${WEFT_JANSSON_INCLUDE})
target_link_libraries(weft_jansson INTERFACE ${WEFT_JANSSON_LIBRARY})
set(WEFT_LIBRARIES ${WEFT_LIBRARIES} weft_jansson)
