// Records when each instruction ran and the range of its results, for profiles.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace halfstep::runtime {

/// Smallest and largest element of a value. `low > high` if it has none.
struct ValueRange {
  double low = 1, high = 0;
  int64_t not_numbers = 0;  ///< number of NaN elements
  bool known = false;       ///< false if ranges were not requested, or for floats of 16 bits or fewer
};

struct ProgramSpec;
struct RegionRun;

/// A run fills the trace that it receives. Runs without a trace have no overhead.
struct Trace {
  /// Nanoseconds since the run began. A skipped instruction has end == begin == 0.
  struct Timing {
    int64_t begin = 0;
    int64_t end = 0;
    int worker = 0;  ///< worker that completed the instruction
  };
  int64_t origin = 0;           ///< start of the run, in the time of now_ns
  bool ranges = false;          ///< also record ranges of results, measured after each instruction's end
  std::vector<Timing> timings;  ///< indexed by instruction
  std::vector<std::vector<ValueRange>> results = {};  ///< indexed by instruction and output port, filled if `ranges` is
                                                      ///< set
  std::vector<RegionRun> regions;                     ///< in the order in which they were entered

  /// Limits the number of recorded region runs in the whole trace, nested ones included. Later ones are only counted.
  struct Room {
    int64_t left = 1000;
    int64_t left_out = 0;
  };
  std::shared_ptr<Room> room = std::make_shared<Room>();
};

/// One run of a region that an instruction entered.
struct RegionRun {
  size_t instruction = 0;
  size_t region = 0;
  int64_t iteration = -1;  ///< -1 in a branch or a call
  std::shared_ptr<const ProgramSpec> program;
  Trace trace;
};

/// Nanoseconds of a monotonic clock.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace halfstep::runtime
