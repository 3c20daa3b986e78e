// How a network takes raw values; data/pipeline/preprocess.h says what is computed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace halfstep {

struct PreprocessRecord {
  std::pair<int64_t, int64_t> size = {};  ///< height and width; 0 and 0: as they are
  int64_t resize = 0, crop = 0;           ///< 0: none
  bool ignores_orientation = false;
  float scale = 1.0F;
  std::vector<float> mean = {}, deviation = {};
  bool reverses_channels = false, channels_last = false;

  bool operator==(const PreprocessRecord&) const = default;
};

}  // namespace halfstep
