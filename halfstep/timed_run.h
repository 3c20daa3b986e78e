// A Program run once for its results and again for its speed. Internal to the face.
#pragma once

#include "halfstep/halfstep.h"
#include "halfstep/runtime/program.h"

namespace halfstep {

/// Outputs, and milliseconds of `repeat` further runs into the same tensors.
void run_timed(runtime::Program& program, const std::map<std::string, Tensor>& inputs, int64_t repeat, ThreadPool& pool,
               RunReport& report);

}  // namespace halfstep
