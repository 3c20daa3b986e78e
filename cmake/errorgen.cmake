# errorgen turns each room's errors.yaml into functions that make its diagnostics, and a table of all. It does not link
# the library.
file(GLOB sources CONFIGURE_DEPENDS errorgen/*.cpp buildgen/*.cpp)
file(GLOB_RECURSE catalogue CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} halfstep/errors.yaml)
add_executable(errorgen ${sources})
target_include_directories(errorgen PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(errorgen PRIVATE fmt::fmt yaml-cpp)
target_compile_options(errorgen PRIVATE ${HALFSTEP_COLD})

set(made "")
foreach(file IN LISTS catalogue)
  get_filename_component(folder ${file} DIRECTORY)
  string(REGEX REPLACE "^halfstep/" "" room ${folder})
  string(REPLACE / _ name ${room})
  list(APPEND HALFSTEP_GEN_${name} ${HALFSTEP_GEN}/${folder}/errors.cpp)
  list(APPEND made ${HALFSTEP_GEN}/${folder}/errors.cpp ${HALFSTEP_GEN}/${folder}/errors.h)
endforeach()
list(APPEND HALFSTEP_GEN_api ${HALFSTEP_GEN}/halfstep/api/error_table.cpp)
add_custom_command(
  OUTPUT ${HALFSTEP_GEN}/errorgen.stamp
  BYPRODUCTS ${made} ${HALFSTEP_GEN}/halfstep/api/error_table.cpp
  COMMAND errorgen --out ${HALFSTEP_GEN} ${catalogue}
  COMMAND ${CMAKE_COMMAND} -E touch ${HALFSTEP_GEN}/errorgen.stamp
  DEPENDS errorgen ${catalogue}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "Generating errors from the rooms' catalogues"
  VERBATIM)
add_custom_target(halfstep_errors DEPENDS ${HALFSTEP_GEN}/errorgen.stamp)
