# Shorter full builds: precompiled headers, sources compiled in groups, and less optimization for code that does not
# compute.
set(HALFSTEP_GEN ${CMAKE_BINARY_DIR}/gen)
file(MAKE_DIRECTORY ${HALFSTEP_GEN})
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${HALFSTEP_GEN}/halfstep/core/base/version.h @ONLY)

# For code that runs once for a network or a file. GCC's -Og omits the most expensive passes of -O1, and without them it
# reports std::variant as uninitialized. Do not use it for references: if they share a template with fast kernels, the
# linker takes either copy.
set(HALFSTEP_COLD $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Og>
    $<$<AND:$<CONFIG:Release>,$<COMPILE_LANG_AND_ID:CXX,GNU>>:-Wno-maybe-uninitialized>)
# Tests loop over all cases, which takes long.
set(HALFSTEP_TEST_COLD $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# The heavy headers, compiled once for the library and once for the tests (which add GoogleTest). GCC only, so that
# clang builds (fuzz) reveal missing includes.
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
  target_compile_options(${TARGET} PUBLIC $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  target_link_libraries(${TARGET} PRIVATE fmt::fmt)
  target_precompile_headers(${TARGET} PRIVATE ${HALFSTEP_HEAVY_HEADERS} ${ARGN})
endfunction()
function(halfstep_use_precompiled TARGET FROM)
  if(TARGET ${FROM})
    target_compile_options(${TARGET} PRIVATE -fpch-preprocess)
    target_precompile_headers(${TARGET} REUSE_FROM ${FROM})
  endif()
endfunction()
halfstep_precompiled(halfstep_heavy)
# For kernels, also Highway at all levels. Its functions keep the options that they were precompiled with.
halfstep_precompiled(halfstep_kernels_heavy <immintrin.h> <cmath> <cstring> <limits>
                     ${CMAKE_SOURCE_DIR}/halfstep/engine/kernels/common/simd/highway.h)
function(halfstep_kernel_options TARGET)
  target_compile_options(${TARGET} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O3>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # With precompiled headers, GCC 12 reports values that its own intrinsics leave undefined on purpose (GCC bug
    # 105593).
    target_compile_options(${TARGET} PRIVATE -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
endfunction()
if(TARGET halfstep_kernels_heavy)
  halfstep_kernel_options(halfstep_kernels_heavy)
  target_include_directories(halfstep_kernels_heavy PRIVATE ${CMAKE_SOURCE_DIR} ${HALFSTEP_GEN})
  target_link_libraries(halfstep_kernels_heavy PRIVATE hwy::hwy)
endif()

# Compiles sources in groups (HALFSTEP_TOGETHER), so that headers are read and templates are instantiated once for a
# group. Names in unnamed namespaces must therefore differ within a folder, for any grouping. The step `together` of
# tools/deep.sh checks that by compiling each folder as one group. Kernels are excluded, because they repeat the names
# of their form. Readers of files are excluded too, because they name fields as their format does.
function(halfstep_group OUT NAME)
  set(files ${ARGN})
  list(FILTER files EXCLUDE REGEX "/formats/[a-z]+/(onnx_messages|protobuf_wire|node|tensor_data|program_desc|pir)\\.cpp$")
  list(FILTER files EXCLUDE REGEX "/gen/halfstep/core/ir/ops\\.cpp$")  # test_ir has its own table
  list(FILTER files EXCLUDE REGEX "/(parallel|fleet)\\.cpp$")  # tools/check_library.py names their objects
  if(NOT HALFSTEP_TOGETHER OR NAME STREQUAL engine_kernels)
    set(${OUT} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(result ${ARGN})
  list(REMOVE_ITEM result ${files})
  set(number 0)
  while(files)
    list(SUBLIST files 0 ${HALFSTEP_TOGETHER} some)
    list(REMOVE_ITEM files ${some})
    set(group ${HALFSTEP_GEN}/together/${NAME}_${number}.cpp)
    list(TRANSFORM some REPLACE "^(${HALFSTEP_GEN}|${CMAKE_SOURCE_DIR})/(.*)$" "#include \"\\2\"\n")
    list(JOIN some "" text)
    file(CONFIGURE OUTPUT ${group} CONTENT "${text}" @ONLY)
    list(APPEND result ${group})
    math(EXPR number "${number} + 1")
  endwhile()
  set(${OUT} ${result} PARENT_SCOPE)
endfunction()
