# bench/*.cpp -> bench, one Google Benchmark program.
file(GLOB sources CONFIGURE_DEPENDS bench/*.cpp)
if(sources)
  add_executable(bench EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(bench PRIVATE halfstep_lib benchmark::benchmark nlohmann_json::nlohmann_json)
  halfstep_use_precompiled(bench halfstep_heavy)
endif()
