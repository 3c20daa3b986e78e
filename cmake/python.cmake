# The Python package in gen/python: halfstep._core, the modules that opgen writes, and links to those in
# python/halfstep. Python is the one that builds a wheel, or build/venv, which tools/python_env.sh makes for all builds.
set(HALFSTEP_PACKAGE ${HALFSTEP_GEN}/python/halfstep)
set(HALFSTEP_VENV ${CMAKE_SOURCE_DIR}/build/venv)

# Sets HALFSTEP_NO_PYTHON to the reason why the package cannot be built, or to an empty string.
function(halfstep_look_for_python)
  set(reason "")
  if(HALFSTEP_SANITIZE)
    set(reason "a sanitizer would have to be built into Python too")
  elseif(NOT SKBUILD AND NOT EXISTS ${HALFSTEP_VENV}/stamp)
    set(reason "build/venv is not there or not complete; tools/python_env.sh makes it")
  endif()
  set(HALFSTEP_NO_PYTHON "${reason}" PARENT_SCOPE)
endfunction()

halfstep_look_for_python()
if(HALFSTEP_NO_PYTHON)
  return()
endif()
if(NOT SKBUILD)
  set(Python_EXECUTABLE ${HALFSTEP_VENV}/bin/python)
endif()
find_package(Python 3.10 COMPONENTS Interpreter Development.Module NumPy)
if(NOT Python_FOUND AND NOT SKBUILD)
  set(HALFSTEP_NO_PYTHON "the Python of build/venv has no headers or is older than 3.10")
  return()
endif()
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS python/src/*.cpp)
nanobind_add_module(halfstep_python NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${sources})
target_compile_options(nanobind-static PRIVATE -w)
target_link_libraries(halfstep_python PRIVATE halfstep_cli Python::NumPy)
# Hides all symbols of the library, because another library in the process may have the same names.
target_link_options(halfstep_python PRIVATE -Wl,--exclude-libs,ALL)
set_target_properties(halfstep_python PROPERTIES OUTPUT_NAME _core LIBRARY_OUTPUT_DIRECTORY ${HALFSTEP_PACKAGE})

file(MAKE_DIRECTORY ${HALFSTEP_PACKAGE})
file(GLOB faces CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python/halfstep python/halfstep/*.py*
     python/halfstep/py.typed)
list(FILTER faces EXCLUDE REGEX "^onnxruntime_")  # scripts that the program starts
foreach(name ${faces})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/halfstep/${name} ${HALFSTEP_PACKAGE}/${name} SYMBOLIC)
endforeach()
install(TARGETS halfstep_python LIBRARY DESTINATION halfstep COMPONENT python)
if(SKBUILD)
  install(FILES cli/completion.bash DESTINATION ${SKBUILD_DATA_DIR}/share/bash-completion/completions RENAME halfstep
          COMPONENT python)
endif()
install(FILES ${HALFSTEP_PACKAGE}/ops.py ${HALFSTEP_PACKAGE}/ops.pyi ${HALFSTEP_PACKAGE}/options.py
              ${HALFSTEP_PACKAGE}/verbs.py DESTINATION halfstep COMPONENT python)
