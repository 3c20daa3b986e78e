#include "halfstep/timed_run.h"

#include <chrono>

namespace halfstep {

void run_timed(runtime::Program& program, const std::map<std::string, Tensor>& inputs, int64_t repeat, ThreadPool& pool,
               RunReport& report) {
  using Clock = std::chrono::steady_clock;
  report.outputs = program.run(inputs, pool);
  report.milliseconds.clear();
  for (int64_t i = 0; i < repeat; ++i) {
    const auto start = Clock::now();
    program.run_into(inputs, report.outputs, pool);
    report.milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
}

}  // namespace halfstep
