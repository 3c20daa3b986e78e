# Compiler flags of all our code. There is no -march, because the CPU level is chosen at run time.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -D_GLIBCXX_ASSERTIONS")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(warnings -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports these falsely inside std::string (GCC bugs 105329, 105651). The sanitizer builds find real ones.
  list(APPEND warnings -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(HALFSTEP_WERROR)
  list(APPEND warnings -Werror)
endif()
# The program and the Python extension, a shared library, use the same objects. Our own functions are never replaced
# from outside, so calls between them need no table.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fPIC;-fno-semantic-interposition;-ffp-contract=off;${warnings}>")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  # GCC then starts its garbage collection at 1 GB, which few sources reach. This saves a tenth of the compile time for
  # a quarter more memory.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=1000000>")
endif()
if(HALFSTEP_SANITIZE)
  add_compile_options(-fsanitize=${HALFSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HALFSTEP_SANITIZE})
endif()

# ccache rewrites absolute paths to ones relative to the build folder, so build folders and clones share results. It
# does not do so if it is disabled or coverage is counted. __FILE__ is mapped to a path inside the project from either
# form. Builds with and without -Werror share results too: a cached result has compiled, and its warnings are shown
# again. tools/check_build_cost.py reads in ccache.log which sources were not compiled.
find_program(HALFSTEP_CCACHE ccache)
mark_as_advanced(HALFSTEP_CCACHE)
if(HALFSTEP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
      CCACHE_IGNOREOPTIONS=-Werror
      CCACHE_STATSLOG=${CMAKE_BINARY_DIR}/ccache.log
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${HALFSTEP_CCACHE})
endif()
cmake_path(RELATIVE_PATH CMAKE_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE relative)
foreach(folder ${relative} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR})
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${folder}/=>")
endforeach()
