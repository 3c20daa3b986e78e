// The numbers that options take: one range for the command line, Python and C++.
#pragma once

#include <string>
#include <string_view>

#include "halfstep/core/base/status.h"

namespace halfstep {

struct Limits {
  double least, most;
  bool is_whole = true;
  bool above = false, below = false;  ///< `least`, and `most`, are not among them

  /// False for NaN and infinities.
  bool contains(double number) const;
  /// "1 to 1024", "at least 0 and below 1", "above 0 and at most 100".
  std::string text() const;

  /// Throws number_out_of_range for a number that is not one of them.
  template <class Number>
  void require(std::string_view where, Number found) const {
    if (!contains(static_cast<double>(found))) fail(errors::number_out_of_range(where, found, text()));
  }
};

constexpr Limits whole_numbers(double least, double most = 1e9) { return {least, most}; }
constexpr Limits reals(double least, double most) { return {least, most, false}; }

namespace limits {

inline constexpr Limits kThreads = whole_numbers(0, 1024), kSeed = whole_numbers(0, 1e18);

// samples and runs
inline constexpr Limits kSamples = whole_numbers(0), kPixels = whole_numbers(1, 65535), kTop = whole_numbers(1),
                        kRepeats = whole_numbers(0, 1e6), kBatch = whole_numbers(1),
                        kIterations = whole_numbers(0, 1e15);
inline constexpr Limits kTolerance = reals(0, 1e30), kValue = reals(-1e30, 1e30), kDeviation = {0, 1e30, false, true},
                        kSeconds = {0, 1e9, false, true};

// quantization
inline constexpr Limits kBits = whole_numbers(1, 32), kCalibrationBatches = whole_numbers(1),
                        kRepairSteps = whole_numbers(1), kFront = whole_numbers(0, 100),
                        kDirections = whole_numbers(0, 1e6), kTries = whole_numbers(0, 1e6), kLength = whole_numbers(1),
                        kOpset = whole_numbers(13, 25), kBorder = whole_numbers(0, 64);

// training
inline constexpr Limits kEpochs = whole_numbers(1, 1e6), kTuneEpochs = whole_numbers(0, 1e6),
                        kRenormalize = whole_numbers(0, 1e6), kShift = whole_numbers(0, 65535);
inline constexpr Limits kShare = {0, 1, false, false, true}, kMixup = reals(0, 100),
                        kLearningRate = {0, 1000, false, true}, kScaleRate = {0, 100, false, true},
                        kTeacherWeight = {0, 10000, false, true};

}  // namespace limits
}  // namespace halfstep
