# opgen turns the records in ops/ into C++, docs and tests under build/PRESET/gen. It rewrites only changed files, and
# ninja then stops at unchanged ones (restat). The stamp records that it has run.
add_custom_target(halfstep_gen)

file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} opgen/*.cpp)
file(GLOB records CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} ops/*.yaml)
if(NOT "opgen/main.cpp" IN_LIST sources OR NOT records)
  return()
endif()
list(REMOVE_ITEM records ops/schema.yaml)
list(REMOVE_ITEM sources opgen/main.cpp)

list(TRANSFORM sources PREPEND ${CMAKE_SOURCE_DIR}/)
halfstep_group(sources opgen ${sources})
add_library(opgen_lib STATIC ${sources})
target_link_libraries(opgen_lib PUBLIC halfstep_core_base yaml-cpp)
halfstep_use_precompiled(opgen_lib halfstep_heavy)
target_compile_options(opgen_lib PRIVATE ${HALFSTEP_COLD})
add_executable(opgen opgen/main.cpp)
target_link_libraries(opgen PRIVATE opgen_lib)

# Functions that translate foreign operators. CMake finds them here, and opgen lists them.
file(GLOB forms CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} halfstep/formats/*/ops/*.cpp halfstep/formats/*/ops/*/*.cpp)
set(form_options "")
foreach(form IN LISTS forms)
  list(APPEND form_options --form ${form})
endforeach()

# One source for each record file, and the table of all.
set(HALFSTEP_GEN_core_ir ${HALFSTEP_GEN}/halfstep/core/ir/ops.cpp)
foreach(file IN LISTS records)
  get_filename_component(stem ${file} NAME_WE)
  list(APPEND HALFSTEP_GEN_core_ir ${HALFSTEP_GEN}/halfstep/core/ir/ops_${stem}.cpp)
endforeach()
set(HALFSTEP_GEN_engine_kernels
    ${HALFSTEP_GEN}/halfstep/engine/kernels/table.cpp ${HALFSTEP_GEN}/halfstep/engine/kernels/pointwise.cpp)
set(HALFSTEP_GEN_core_arith ${HALFSTEP_GEN}/halfstep/core/arith/functions.cpp)
set(HALFSTEP_GEN_passes_gradient ${HALFSTEP_GEN}/halfstep/passes/gradient/gradients.cpp)
set(HALFSTEP_GEN_formats_onnx ${HALFSTEP_GEN}/halfstep/formats/onnx/forms.cpp)
set(HALFSTEP_GEN_formats_paddle ${HALFSTEP_GEN}/halfstep/formats/paddle/forms.cpp)
set(HALFSTEP_GEN_verify_operators ${HALFSTEP_GEN}/tests/op_cases.cpp)
add_custom_command(
  OUTPUT ${HALFSTEP_GEN}/opgen.stamp
  BYPRODUCTS ${HALFSTEP_GEN_core_arith} ${HALFSTEP_GEN_core_ir} ${HALFSTEP_GEN_engine_kernels} ${HALFSTEP_GEN_passes_gradient} ${HALFSTEP_GEN_formats_onnx} ${HALFSTEP_GEN_formats_paddle} ${HALFSTEP_GEN_verify_operators}
             ${HALFSTEP_GEN}/halfstep/core/ir/ops.h ${HALFSTEP_GEN}/halfstep/core/ir/ops_records.h ${HALFSTEP_GEN}/halfstep/core/ir/record_enums.h
             ${HALFSTEP_GEN}/halfstep/engine/kernels/ops.h ${HALFSTEP_GEN}/halfstep/core/arith/pointwise_functions.h
             ${HALFSTEP_GEN}/halfstep/passes/gradient/gradients.h ${HALFSTEP_GEN}/docs/operators.md ${HALFSTEP_GEN}/docs/onnx.md ${HALFSTEP_GEN}/docs/paddle.md
             ${HALFSTEP_GEN}/python/halfstep/ops.py ${HALFSTEP_GEN}/python/halfstep/ops.pyi
  COMMAND opgen --schema ops/schema.yaml --out ${HALFSTEP_GEN} ${form_options} ${records}
  COMMAND ${CMAKE_COMMAND} -E touch ${HALFSTEP_GEN}/opgen.stamp
  DEPENDS opgen ops/schema.yaml ${records} ${forms}
  WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  COMMENT "Generating code from the operator records"
  VERBATIM)
# Integers wrap in pointwise operators.
set_source_files_properties(${HALFSTEP_GEN}/halfstep/engine/kernels/pointwise.cpp PROPERTIES COMPILE_OPTIONS -fwrapv)

add_custom_target(halfstep_gen_run DEPENDS ${HALFSTEP_GEN}/opgen.stamp)
add_dependencies(halfstep_gen halfstep_gen_run)
