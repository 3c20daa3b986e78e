// A run, instruction by instruction, for viewers and people.
#pragma once

#include <string>

#include "halfstep/api/run.h"

namespace halfstep::report {

/// Chrome's trace events as JSON, which chrome://tracing, Perfetto and Speedscope open: a process for each place, a
/// thread for each worker; times in microseconds, shapes and ranges as arguments, and what they are inside of.
std::string as_chrome_trace(const api::ExecutionTrace& trace);

/// Three lines for each instruction in the order of their beginnings: where it runs, what it reads and writes, how long
/// it took and what came out. What ran in its regions stands in front of the last.
std::string as_log(const api::ExecutionTrace& trace);

}  // namespace halfstep::report
