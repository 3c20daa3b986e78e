// Preprocessing of raw values for a network. data/pipeline/preprocess.h defines the computation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace halfstep {

/// Stored parameters of the preprocessing.
struct PreprocessRecord {
  std::pair<int64_t, int64_t> size = {};  ///< height and width in pixels; 0 and 0: unchanged
  int64_t resize = 0, crop = 0;           ///< in pixels; 0: none
  bool ignores_orientation = false;
  float scale = 1.0F;
  std::vector<float> mean = {}, deviation = {};
  bool reverses_channels = false, channels_last = false;

  bool operator==(const PreprocessRecord&) const = default;
};

}  // namespace halfstep
