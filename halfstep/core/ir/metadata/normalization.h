// Batch norms that are part of a layer's weight and can still be trained.
#pragma once

#include <string>

namespace halfstep {

/// A layer whose weight and bias have a normalization in them, and the tensors that they are made of: weight =
/// raw_weight * scale / sqrt(variance + epsilon) by output channel, bias = (raw_bias - mean) * scale / sqrt(variance +
/// epsilon) + shift. Training moves what they are made of; passes::settle_normalizations makes them anew.
struct Normalization {
  std::string layer = {}, weight = {}, bias = {};
  std::string raw_weight = {}, raw_bias = {};  ///< raw_bias is empty where the layer had none
  std::string scale = {}, shift = {}, mean = {}, variance = {};
  double epsilon = 0, momentum = 0;
  bool live = false;  ///< training normalizes by the batch's statistics and moves the running ones

  bool operator==(const Normalization&) const = default;
};

}  // namespace halfstep
