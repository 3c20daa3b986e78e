// Loops that may have no end, watched while they run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "halfstep/core/base/progress.h"

namespace halfstep::api {

/// For CompileOptions::watch_iterations: an error where a loop goes on after `most` iterations (0: any number). Every
/// few thousand iterations `progress`, where there is one, is asked, which may throw.
std::function<void(int64_t)> iteration_watch(std::string stage, int64_t most, ProgressCallback progress);

}  // namespace halfstep::api
