// Watches loops that may be infinite.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "halfstep/core/base/progress.h"

namespace halfstep::api {

/// Returns a function for CompileOptions::watch_iterations. It throws if a loop exceeds `most` iterations (0: no
/// limit). Every few thousand iterations it calls `progress`, if set, which may throw.
std::function<void(int64_t)> iteration_watch(std::string stage, int64_t most, ProgressCallback progress);

}  // namespace halfstep::api
