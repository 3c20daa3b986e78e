# bench/*.cpp -> bench, one Google Benchmark program. A test starts each benchmark once, except those on 64 MiB. Builds
# with sanitizers, which are slow and measure nothing, make it only on request.
file(GLOB sources CONFIGURE_DEPENDS bench/*.cpp)
if(sources)
  add_executable(bench ${sources})
  target_link_libraries(bench PRIVATE halfstep_lib benchmark::benchmark nlohmann_json::nlohmann_json)
  halfstep_use_precompiled(bench halfstep_heavy)
  if(HALFSTEP_SANITIZE)
    set_target_properties(bench PROPERTIES EXCLUDE_FROM_ALL ON)
  else()
    add_test(NAME bench COMMAND bench --benchmark_min_time=0.000001 --benchmark_filter=-64MiB)
    set_tests_properties(bench PROPERTIES LABELS bench TIMEOUT ${HALFSTEP_TEST_LIMIT})
  endif()
endif()
