// When each instruction ran, for profiles.
#pragma once

#include <cstdint>
#include <vector>

namespace halfstep::runtime {

/// Filled by a run that is given one; a run without costs nothing for it.
struct Trace {
  /// Nanoseconds since the run began. An instruction that was skipped has end == begin == 0.
  struct Timing {
    int64_t begin = 0;
    int64_t end = 0;
    int worker = 0;  ///< that completed it
  };
  std::vector<Timing> timings;  ///< by instruction
};

}  // namespace halfstep::runtime
