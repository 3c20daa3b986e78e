// Batch norms that are folded into a layer's weight and still trainable.
#pragma once

#include <string>

namespace halfstep {

/// A layer with a folded normalization, and the tensors from which its weight and bias are computed. Per output
/// channel: weight = raw_weight * scale / sqrt(variance + epsilon), bias = (raw_bias - mean) * scale / sqrt(variance +
/// epsilon) + shift. Training updates the raw tensors, and passes::settle_normalizations recomputes weight and bias.
struct Normalization {
  std::string layer = {}, weight = {}, bias = {};
  std::string raw_weight = {}, raw_bias = {};  ///< raw_bias is empty if the layer had no bias
  std::string scale = {}, shift = {}, mean = {}, variance = {};
  double epsilon = 0, momentum = 0;
  bool live = false;  ///< training normalizes with batch statistics and updates the running ones

  bool operator==(const Normalization&) const = default;
};

}  // namespace halfstep
