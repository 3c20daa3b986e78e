# halfstep_messages(TARGET FILES.proto...): protobuf messages, included as "NAME.pb.h". Warnings in generated code are
# disabled.
function(halfstep_messages TARGET)
  set(folder ${HALFSTEP_GEN}/proto)
  file(MAKE_DIRECTORY ${folder})
  foreach(file IN LISTS ARGN)
    get_filename_component(stem ${file} NAME_WE)
    get_filename_component(source ${file} DIRECTORY)
    add_custom_command(
      OUTPUT ${folder}/${stem}.pb.cc ${folder}/${stem}.pb.h
      COMMAND ${Protobuf_PROTOC_EXECUTABLE} --proto_path=${source} --cpp_out=${folder} ${file}
      DEPENDS ${file}
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
      COMMENT "Generating messages of ${file}"
      VERBATIM)
    set_source_files_properties(${folder}/${stem}.pb.cc PROPERTIES COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON)
    target_sources(${TARGET} PRIVATE ${folder}/${stem}.pb.cc ${folder}/${stem}.pb.h)
  endforeach()
  target_include_directories(${TARGET} SYSTEM PUBLIC ${folder})
  target_link_libraries(${TARGET} PUBLIC protobuf::libprotobuf-lite)
endfunction()

# halfstep_room(ROOM DEPS...): a static library halfstep_WING_ROOM of the sources in halfstep/WING/ROOM and of those
# that opgen wrote for it. DEPS are rooms or imported targets.
function(halfstep_room ROOM)
  string(REPLACE / _ name ${ROOM})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS halfstep/${ROOM}/*.cpp)
  if(HALFSTEP_CUDA)
    file(GLOB_RECURSE cuda CONFIGURE_DEPENDS halfstep/${ROOM}/*.cu)
    list(APPEND sources ${cuda})
  else()
    list(FILTER sources EXCLUDE REGEX "/device/cuda/")
  endif()
  list(APPEND sources ${HALFSTEP_GEN_${name}})
  halfstep_group(sources ${name} ${sources})

  set(links "")
  foreach(dep IN LISTS ARGN)
    string(REPLACE / _ target ${dep})
    if(TARGET halfstep_${target})
      list(APPEND links halfstep_${target})
    else()
      list(APPEND links ${dep})
    endif()
  endforeach()

  add_library(halfstep_${name} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY HALFSTEP_ROOMS ${name})
  target_include_directories(halfstep_${name} PUBLIC ${CMAKE_SOURCE_DIR} ${HALFSTEP_GEN})
  target_link_libraries(halfstep_${name} PUBLIC ${links})
  add_dependencies(halfstep_${name} halfstep_errors halfstep_options)
  if(HALFSTEP_CUDA AND ROOM MATCHES "^engine/(kernels|runtime)$")
    target_compile_definitions(halfstep_${name} PRIVATE HALFSTEP_CUDA)
    target_link_libraries(halfstep_${name} PUBLIC CUDA::cudart)
  endif()
  if(ROOM IN_LIST HALFSTEP_HIDDEN_ROOMS)
    set_target_properties(halfstep_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  if(ROOM STREQUAL engine/kernels)
    halfstep_kernel_options(halfstep_${name})
    halfstep_use_precompiled(halfstep_${name} halfstep_kernels_heavy)
    if(TARGET halfstep_kernels_heavy)
      add_dependencies(halfstep_kernels_heavy halfstep_errors halfstep_gen)
    endif()
  else()
    halfstep_use_precompiled(halfstep_${name} halfstep_heavy)
  endif()
  if(ROOM MATCHES "^(core/ir|engine/compile|formats/.*|passes/.*|quant/.*|tune/(allocation|sensitivity)|verify/(equivalence|operators)|fuzz|api|report)$")
    target_compile_options(halfstep_${name} PRIVATE ${HALFSTEP_COLD})
  endif()
  if(ROOM MATCHES "^formats/(onnx|paddle)$")
    file(GLOB messages CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} halfstep/${ROOM}/*.proto)
    halfstep_messages(halfstep_${name} ${messages})
  endif()
  if(ROOM STREQUAL core/base)
    file(GLOB embedded CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR} models/*.ir models/*.csv.gz platforms/*.yaml
         halfstep/passes/canonical/*.txt halfstep/verify/operators/differences/*.json
         halfstep/formats/c/text/*.c halfstep/formats/c/text/*/*.c
         python/halfstep/onnxruntime_*.py)
    halfstep_embed(halfstep_core_base ${embedded})
  elseif(NOT ROOM MATCHES "^(core/(machine|files)|data/datasets|engine/runtime)$")
    add_dependencies(halfstep_${name} halfstep_gen)
  endif()
endfunction()

# The library as its users see it (halfstep.h), and the program. The Python extension contains the program too, so the
# program is built as objects with hidden symbols.
function(halfstep_face)
  add_library(halfstep_lib INTERFACE)
  target_link_libraries(halfstep_lib INTERFACE halfstep_report halfstep_engine_losses)

  file(GLOB sources CONFIGURE_DEPENDS cli/*.cpp)
  list(REMOVE_ITEM sources ${CMAKE_SOURCE_DIR}/cli/main.cpp)
  halfstep_group(sources cli ${sources})
  add_library(halfstep_cli OBJECT ${sources})
  target_link_libraries(halfstep_cli PUBLIC halfstep_lib PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json yaml-cpp)
  halfstep_use_precompiled(halfstep_cli halfstep_heavy)
  target_compile_options(halfstep_cli PRIVATE ${HALFSTEP_COLD})
  set_target_properties(halfstep_cli PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)

  add_executable(halfstep cli/main.cpp)
  target_link_libraries(halfstep PRIVATE halfstep_cli)
endfunction()
