// Writes quantizer ranges in the formats of chip-specific tools. Fields and formulas follow the files that MQBench
// writes for these tools.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::formats::vendor {

/// One quantizer, with the network's name of its value.
struct Range {
  std::string tensor;
  bool is_weight = false;
  std::string layer;  ///< layer that reads the weight
  int64_t code_min = 0, code_max = 0;
  std::vector<float> scale = {};
  std::vector<int32_t> zero_point = {};
  float observed = 0;     ///< largest observed magnitude
  bool of_layer = false;  ///< a layer with weights produces it

  double least(size_t channel = 0) const { return real(code_min, channel); }
  double largest(size_t channel = 0) const { return real(code_max, channel); }
  double real(int64_t code, size_t channel) const {
    return static_cast<double>(scale[channel]) * static_cast<double>(code - zero_point[channel]);
  }
  int bits() const;
};

/// Ranges in the order of the graph.
struct Ranges {
  std::vector<Range> all;
  /// Values without own range that were flattened, reshaped or resized to an activation.
  std::vector<Range> behind_moves;
  /// Layer results, with or without own range, that a ReLU or ReLU6 turned into an activation.
  std::vector<Range> behind_activations;
};
Ranges ranges_of(const Model& prepared);

std::string tensorrt_ranges(const Model& prepared, const Ranges& ranges);
std::string snpe_encodings(const Model& prepared, const Ranges& ranges);
std::string ppl_ranges(const Model& prepared, const Ranges& ranges);
std::string pplcuda_ranges(const Model& prepared, const Ranges& ranges);
std::string vitis_scales(const Model& prepared, const Ranges& ranges);
std::string nnie_parameters(const Model& prepared, const Ranges& ranges);
std::string tengine_scales(const Model& prepared, const Ranges& ranges);
std::string stpu_ranges(const Model& prepared, const Ranges& ranges);

}  // namespace halfstep::formats::vendor
