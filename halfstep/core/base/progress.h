// Progress callback. The library itself never prints.
#pragma once

#include <functional>
#include <string_view>

namespace halfstep {

/// Progress of long work. The callback runs on the thread that called the library.
struct Progress {
  std::string_view stage;  ///< "float training", "calibration"
  double done = 0;         ///< completed and total work, in the unit of the stage
  double total = 0;
  std::string_view note;  ///< "loss 0.031, accuracy 98.9 %"; may be empty
};

/// May throw Error(interrupted) to stop the work at a safe point.
using ProgressCallback = std::function<void(const Progress&)>;

}  // namespace halfstep
