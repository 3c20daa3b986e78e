// From what a data set has (pixels) to what a network takes: stated once, it travels with the Model as a note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/ir/model.h"

namespace halfstep::train {

/// x = (value * scale - mean[c]) / deviation[c], in float32 in this order; c counts channels as the network has them.
struct Preprocess {
  float scale = 1.0F;
  std::vector<float> mean = {};       ///< by channel, or one for all; empty: 0
  std::vector<float> deviation = {};  ///< by channel, or one for all; empty: 1
  bool reverses_channels = false;     ///< RGB becomes BGR, which `mean` and `deviation` then count
  bool channels_last = false;         ///< the network takes [n, h, w, c]; a data set has [n, c, h, w]

  bool operator==(const Preprocess&) const = default;

  /// Extents of a sample that the network sees, from those of a data set.
  Dims sample_dims(const Dims& dims) const;
  /// The inputs of the network from a batch [n, c, h, w] or [n, columns], f32. Throws where the channels are not those
  /// of mean or deviation.
  Tensor apply(Tensor batch) const;
};

/// As JSON; the same text for the same numbers.
std::string to_text(const Preprocess& preprocess);
/// Throws Error that starts with `where`.
Preprocess parse_preprocess(const std::string& text, const std::string& where);

void set_preprocess(Model& model, const Preprocess& preprocess);
/// What the Model's note says; without one it takes values as they are.
Preprocess preprocess_of(const Model& model);

}  // namespace halfstep::train
