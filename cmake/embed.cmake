# halfstep_embed(TARGET FILES...): embeds files of the project into TARGET. At run time halfstep::embedded(PATH) finds
# them by their path relative to the source folder.
function(halfstep_embed TARGET)
  set(output ${CMAKE_BINARY_DIR}/gen/halfstep/core/base/embedded_files.cpp)
  list(SORT ARGN)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} "-DFILES=${ARGN}" -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
    COMMENT "Embedding models and platforms"
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${output})
endfunction()
