// The trace of a run, instruction by instruction, for trace viewers and as a log.
#pragma once

#include <string>

#include "halfstep/api/run.h"

namespace halfstep::report {

/// Chrome trace events as JSON, for chrome://tracing, Perfetto and Speedscope. A process is a device, and a thread is a
/// worker. Times are in microseconds. Arguments are shapes, ranges and the enclosing regions.
std::string as_chrome_trace(const api::ExecutionTrace& trace);

/// Three lines for each instruction, ordered by start time: device, operands and results, then duration and values. The
/// instructions of its regions precede the last line.
std::string as_log(const api::ExecutionTrace& trace);

}  // namespace halfstep::report
