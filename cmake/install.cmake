# Install: headers, the shared library, the command, and how to find them (pkg-config and a CMake package).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The folder of OpenBLAS's OpenMP build stays in the run path of what is installed; see dependencies.cmake.
set_target_properties(weft PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
set(weft_libraries weft)
if(TARGET weft-tools)
  set_target_properties(weft-tools PROPERTIES INSTALL_RPATH "$ORIGIN")
  list(APPEND weft_libraries weft-tools)
endif()
install(TARGETS ${weft_libraries} EXPORT weft-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What programs that run dry are started with, beside the command's libraries. It isn't installed under the driver's name.
install(TARGETS weft-dry weft-dry-nvml LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
foreach(program weft_command weft-replay)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

# Pages and completions of the command; completions ask the command itself, so they are the same for all of its commands.
if(WEFT_MAN)
  install(DIRECTORY ${WEFT_MAN}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
  install(FILES docs/completion/weft.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME weft)
  install(FILES docs/completion/_weft DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

set(weft_cmake_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${weft_cmake_folder})
configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake INSTALL_DESTINATION ${weft_cmake_folder})
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/weft-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${weft_cmake_folder})

file(RELATIVE_PATH WEFT_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
foreach(library ${weft_libraries})
  configure_file(cmake/${library}.pc.in ${library}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${library}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
