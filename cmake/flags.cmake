# Compiler flags of all our code. No -march: the CPU level is chosen at run time.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g -D_GLIBCXX_ASSERTIONS")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# One set of objects for the program and for the Python extension, which is a shared library. Our own functions are never
# replaced from outside, so calls between them need no table.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fPIC;-fno-semantic-interposition>" $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fPIC>)

add_compile_options(-ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 reports these falsely inside std::string (GCC bugs 105329, 105651); the sanitizer builds look for real ones.
  add_compile_options(-Wno-restrict -Wno-array-bounds -Wno-stringop-overflow)
endif()
if(HALFSTEP_WERROR)
  add_compile_options(-Werror)
endif()
if(HALFSTEP_SANITIZE)
  add_compile_options(-fsanitize=${HALFSTEP_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HALFSTEP_SANITIZE})
endif()

# ccache rewrites absolute paths to ones relative to the build folder, so that build folders and clones share results;
# __FILE__ is mapped to a path inside the project either way. Builds with and without -Werror share them too: what is kept has
# compiled, and its warnings are shown again.
find_program(HALFSTEP_CCACHE ccache)
mark_as_advanced(HALFSTEP_CCACHE)
if(HALFSTEP_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
      CCACHE_IGNOREOPTIONS=-Werror
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${HALFSTEP_CCACHE})
  cmake_path(RELATIVE_PATH CMAKE_SOURCE_DIR BASE_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_VARIABLE relative)
  add_compile_options(-fmacro-prefix-map=${relative}/=)
else()
  add_compile_options(-fmacro-prefix-map=${CMAKE_BINARY_DIR}/= -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
endif()

# The heavy headers, compiled once for the library and once for the tests (which add GoogleTest). GCC only: clang builds
# (fuzz) then show what a file forgot to include.
set(HALFSTEP_HEAVY_HEADERS
    <fmt/format.h> <algorithm> <array> <cstdint> <filesystem> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <variant> <vector>)
function(halfstep_precompiled TARGET)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  file(WRITE ${CMAKE_BINARY_DIR}/gen/${TARGET}.cpp.new "// Carries the precompiled headers.\n")
  file(COPY_FILE ${CMAKE_BINARY_DIR}/gen/${TARGET}.cpp.new ${CMAKE_BINARY_DIR}/gen/${TARGET}.cpp ONLY_IF_DIFFERENT)
  add_library(${TARGET} STATIC ${CMAKE_BINARY_DIR}/gen/${TARGET}.cpp)
  target_compile_options(${TARGET} PUBLIC -fpch-preprocess)
  target_link_libraries(${TARGET} PRIVATE fmt::fmt)
  target_precompile_headers(${TARGET} PRIVATE ${HALFSTEP_HEAVY_HEADERS} ${ARGN})
endfunction()
function(halfstep_use_precompiled TARGET FROM)
  if(TARGET ${FROM})
    target_compile_options(${TARGET} PRIVATE -fpch-preprocess)
    target_precompile_headers(${TARGET} REUSE_FROM ${FROM})
  endif()
endfunction()
