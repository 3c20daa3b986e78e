# optiongen turns each room's options.yaml and the verbs into structs, command-line options and Python verbs. It does
# not link the library.
file(GLOB sources CONFIGURE_DEPENDS optiongen/*.cpp buildgen/*.cpp)
file(GLOB_RECURSE rooms CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} halfstep/options.yaml)
file(GLOB verbs CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} halfstep/api/verbs/*.yaml)
add_executable(optiongen ${sources})
target_include_directories(optiongen PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(optiongen PRIVATE fmt::fmt yaml-cpp)
target_compile_options(optiongen PRIVATE ${HALFSTEP_COLD})

set(made ${HALFSTEP_GEN}/halfstep/core/base/ranges.h ${HALFSTEP_GEN}/halfstep/api/commands.cpp
         ${HALFSTEP_GEN}/halfstep/api/commands.h ${HALFSTEP_GEN}/python/halfstep/options.py
         ${HALFSTEP_GEN}/python/halfstep/verbs.py)
foreach(file IN LISTS rooms)
  get_filename_component(folder ${file} DIRECTORY)
  string(REGEX REPLACE "^halfstep/" "" room ${folder})
  string(REPLACE / _ name ${room})
  if(NOT room STREQUAL core/base)
    list(APPEND HALFSTEP_GEN_${name} ${HALFSTEP_GEN}/${folder}/options.cpp)
    list(APPEND made ${HALFSTEP_GEN}/${folder}/options.cpp ${HALFSTEP_GEN}/${folder}/options.h)
  endif()
endforeach()
list(APPEND HALFSTEP_GEN_api ${HALFSTEP_GEN}/halfstep/api/commands.cpp)
add_custom_command(
  OUTPUT ${HALFSTEP_GEN}/optiongen.stamp
  BYPRODUCTS ${made}
  COMMAND optiongen --out ${HALFSTEP_GEN} ${rooms} ${verbs}
  COMMAND ${CMAKE_COMMAND} -E touch ${HALFSTEP_GEN}/optiongen.stamp
  DEPENDS optiongen ${rooms} ${verbs}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "Generating options from their descriptions"
  VERBATIM)
add_custom_target(halfstep_options DEPENDS ${HALFSTEP_GEN}/optiongen.stamp)
