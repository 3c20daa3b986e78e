// When each instruction ran and what it gave, for profiles.
#pragma once

#include <cstdint>
#include <vector>

namespace halfstep::runtime {

/// Least and largest number of a value; `low > high` where it has none.
struct ValueRange {
  double low = 1, high = 0;
  int64_t not_numbers = 0;  ///< how many are NaN
  bool known = false;       ///< not where nobody looked, or where floats have 16 bits or fewer
};

/// Filled by a run that is given one; a run without costs nothing for it.
struct Trace {
  /// Nanoseconds since the run began. An instruction that was skipped has end == begin == 0.
  struct Timing {
    int64_t begin = 0;
    int64_t end = 0;
    int worker = 0;  ///< that completed it
  };
  bool ranges = false;          ///< also what instructions give, which is looked at after their end
  std::vector<Timing> timings;  ///< by instruction
  std::vector<std::vector<ValueRange>> results = {};  ///< by instruction and output port, where they are asked for
};

}  // namespace halfstep::runtime
