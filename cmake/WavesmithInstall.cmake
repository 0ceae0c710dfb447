# What an installation holds for other projects: libraries, headers, a CMake package, pkg-config
# files. All of it is found from where it lies, so a prefix may be moved.
include(CMakePackageConfigHelpers)

# Where LLVM is not where the loader looks, what is installed says so.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# While the major number is 0 a new minor one may change the interface.
set(WS_SOVERSION ${PROJECT_VERSION_MAJOR})
set(WS_COMPATIBILITY SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(WS_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  set(WS_COMPATIBILITY SameMinorVersion)
endif()
set(WS_INCLUDE_DIR "${CMAKE_INSTALL_INCLUDEDIR}/wavesmith")
set(WS_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/wavesmith")

# ws_install_library(TARGET NAME): a shared library, wavesmith::NAME to those who find the package.
function(ws_install_library target name)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name} VERSION ${PROJECT_VERSION} SOVERSION ${WS_SOVERSION})
  target_link_options(${target} PRIVATE -Wl,-Bsymbolic-functions)
  install(TARGETS ${target} EXPORT ${target}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${WS_INCLUDE_DIR}")
  install(EXPORT ${target} FILE ${target}-targets.cmake
    NAMESPACE wavesmith:: DESTINATION "${WS_PACKAGE_DIR}")
endfunction()

# ws_install_headers(FILES...): public headers of the current folder, under its path from the root.
# Here they include each other by that path; where they are installed, by the way from file to file,
# so that a folder "gen" or "ir" of the program that includes them does not come between.
function(ws_install_headers)
  file(RELATIVE_PATH folder "${CMAKE_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "[^/]+" ".." root "${folder}")
  foreach(name ${ARGN})
    set(header "${CMAKE_CURRENT_SOURCE_DIR}/${name}")
    set(installed "${CMAKE_BINARY_DIR}/include/${folder}/${name}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
    file(READ "${header}" text)
    string(REGEX REPLACE "(\n#include \")" "\\1${root}/" text "${text}")
    file(CONFIGURE OUTPUT "${installed}" CONTENT "${text}" @ONLY)
    install(FILES "${installed}" DESTINATION "${WS_INCLUDE_DIR}/${folder}")
  endforeach()
endfunction()

# The files by which CMake and pkg-config find the libraries.
function(ws_install_packages)
  set(config "${CMAKE_BINARY_DIR}/wavesmith-config.cmake")
  configure_package_config_file("${CMAKE_SOURCE_DIR}/cmake/wavesmith-config.cmake.in" "${config}"
    INSTALL_DESTINATION "${WS_PACKAGE_DIR}" NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/wavesmith-config-version.cmake"
    COMPATIBILITY ${WS_COMPATIBILITY})
  install(FILES "${config}" "${CMAKE_BINARY_DIR}/wavesmith-config-version.cmake"
    DESTINATION "${WS_PACKAGE_DIR}")

  string(REGEX REPLACE "[^/]+" ".." WS_PREFIX_FROM_PC "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  set(libraries wavesmith_rt)
  if(TARGET wavesmith)
    list(APPEND libraries wavesmith)
  endif()
  foreach(library ${libraries})
    configure_file("${CMAKE_SOURCE_DIR}/cmake/${library}.pc.in" "${library}.pc" @ONLY)
    install(FILES "${CMAKE_BINARY_DIR}/${library}.pc"
      DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  endforeach()
endfunction()
