# cmake --install: the program, one shared library of all rooms with its headers, find_package(halfstep) and pkg-config.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# One library of all rooms' objects. Its own dependencies are private.
set(objects "")
get_property(rooms GLOBAL PROPERTY HALFSTEP_ROOMS)
foreach(room IN LISTS rooms)
  list(APPEND objects $<TARGET_OBJECTS:halfstep_${room}>)
endforeach()
add_library(halfstep_shared SHARED ${objects})
set_target_properties(halfstep_shared PROPERTIES LINKER_LANGUAGE CXX)
add_library(halfstep::halfstep ALIAS halfstep_shared)
target_link_libraries(halfstep_shared PRIVATE halfstep_lib)
target_compile_features(halfstep_shared INTERFACE cxx_std_20)
target_include_directories(halfstep_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(halfstep_shared PROPERTIES OUTPUT_NAME halfstep EXPORT_NAME halfstep VERSION ${PROJECT_VERSION}
                                                 SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

install(TARGETS halfstep_shared EXPORT halfstep LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library)
install(TARGETS halfstep RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library)
install(FILES cli/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME halfstep
        COMPONENT library)
install(CODE "set(HALFSTEP_ROOTS ${CMAKE_SOURCE_DIR} ${HALFSTEP_GEN})
set(HALFSTEP_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR})" COMPONENT library)
install(SCRIPT cmake/public_headers.cmake COMPONENT library)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/halfstep)
install(EXPORT halfstep NAMESPACE halfstep:: FILE halfstep-targets.cmake DESTINATION ${config} COMPONENT library)
file(WRITE ${CMAKE_BINARY_DIR}/halfstep-config.cmake
     "include(\${CMAKE_CURRENT_LIST_DIR}/halfstep-targets.cmake)\n")
# Before 1.0, a new minor version may break compatibility.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/halfstep-config-version.cmake COMPATIBILITY SameMinorVersion)
file(RELATIVE_PATH HALFSTEP_PREFIX_FROM_PC /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/halfstep.pc.in ${CMAKE_BINARY_DIR}/halfstep.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/halfstep-config.cmake ${CMAKE_BINARY_DIR}/halfstep-config-version.cmake
        DESTINATION ${config} COMPONENT library)
install(FILES ${CMAKE_BINARY_DIR}/halfstep.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT library)
