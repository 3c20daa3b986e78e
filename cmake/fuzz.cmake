# tests/fuzz/NAME.cpp -> fuzz_NAME (libFuzzer), seeds in tests/fuzz/corpus/NAME.
file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*.cpp)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(fuzz_${name} ${source})
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_libraries(fuzz_${name} PRIVATE halfstep_io halfstep_ir halfstep_formats halfstep_eager)
endforeach()
