#include "halfstep/api/detail/iterations.h"

#include <fmt/format.h>

#include "halfstep/api/errors.h"
#include "halfstep/core/base/status.h"

namespace halfstep::api {
namespace {

/// Iterations between two calls of the progress callback.
constexpr int64_t kIterationsBetween = 4096;

}  // namespace

std::function<void(int64_t)> iteration_watch(std::string stage, int64_t most, ProgressCallback progress) {
  if (most < 0) fail(errors::negative_count("max iterations", most));
  return [stage = std::move(stage), most, progress = std::move(progress)](int64_t iteration) {
    if (most > 0 && iteration >= most) fail(errors::loop_exceeds_iterations(most));
    if (progress && iteration % kIterationsBetween == kIterationsBetween - 1)
      progress({stage, 0, 0, fmt::format("a loop, iteration {}", iteration)});
  };
}

}  // namespace halfstep::api
