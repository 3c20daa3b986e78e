// When each instruction ran and what it gave, for profiles.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace halfstep::runtime {

/// Least and largest number of a value; `low > high` where it has none.
struct ValueRange {
  double low = 1, high = 0;
  int64_t not_numbers = 0;  ///< how many are NaN
  bool known = false;       ///< not where nobody looked, or where floats have 16 bits or fewer
};

struct ProgramSpec;
struct RegionRun;

/// Filled by a run that is given one; a run without costs nothing for it.
struct Trace {
  /// Nanoseconds since the run began. An instruction that was skipped has end == begin == 0.
  struct Timing {
    int64_t begin = 0;
    int64_t end = 0;
    int worker = 0;  ///< that completed it
  };
  int64_t origin = 0;           ///< when the run began, by now_ns
  bool ranges = false;          ///< also what instructions give, which is looked at after their end
  std::vector<Timing> timings;  ///< by instruction
  std::vector<std::vector<ValueRange>> results = {};  ///< by instruction and output port, where they are asked for
  std::vector<RegionRun> regions;                     ///< in the order in which they were entered

  /// Runs of regions that the whole has room for, those in regions of regions among them; later ones are counted.
  struct Room {
    int64_t left = 1000;
    int64_t left_out = 0;
  };
  std::shared_ptr<Room> room = std::make_shared<Room>();
};

/// What ran in a region that an instruction entered.
struct RegionRun {
  size_t instruction = 0;
  size_t region = 0;
  int64_t iteration = -1;  ///< -1 in a branch or a call
  std::shared_ptr<const ProgramSpec> program;
  Trace trace;
};

/// Nanoseconds of a clock that never goes back.
inline int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace halfstep::runtime
