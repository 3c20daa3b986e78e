// Ranges of quantizers as the tools of single chips read them. The fields and formulas are those of the files that
// MQBench writes for these tools.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::formats::vendor {

/// One quantizer, by the name that its value has in the network.
struct Range {
  std::string tensor;
  bool is_weight = false;
  std::string layer;  ///< that reads the weight
  int64_t code_min = 0, code_max = 0;
  std::vector<float> scale = {};
  std::vector<int32_t> zero_point = {};
  float observed = 0;     ///< the largest magnitude that was seen
  bool of_layer = false;  ///< whether a layer with weights gives it

  double least(size_t channel = 0) const { return real(code_min, channel); }
  double largest(size_t channel = 0) const { return real(code_max, channel); }
  double real(int64_t code, size_t channel) const {
    return static_cast<double>(scale[channel]) * static_cast<double>(code - zero_point[channel]);
  }
  int bits() const;
};

/// In the order of the graph.
struct Ranges {
  std::vector<Range> all;
  std::vector<Range> behind_moves;        ///< of what a feature was flattened, reshaped or resized from and has no own
  std::vector<Range> behind_activations;  ///< of the layers' results that a ReLU or ReLU6 made a feature of, own or not
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
