// From what a data set has (pixels) to what a network takes: stated once, it travels with the Model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/data/datasets/frame.h"
#include "halfstep/data/pipeline/options.h"

namespace halfstep::data {

/// Pictures are framed; then x = (value * scale - mean[c]) / deviation[c], in float32 in this order; c counts channels
/// as the network has them.
struct Preprocess {
  float scale = 1.0F;
  std::vector<float> mean = {};       ///< by channel, or one for all; empty: 0
  std::vector<float> deviation = {};  ///< by channel, or one for all; empty: 1
  bool reverses_channels = false;     ///< RGB becomes BGR, which `mean` and `deviation` then count
  bool channels_last = false;         ///< the network takes [n, h, w, c]; a data set has [n, c, h, w]
  data::Frame frame = {};

  bool operator==(const Preprocess&) const = default;

  /// Whether numbers go to the network as they are.
  bool keeps_values() const { return scale == 1 && mean.empty() && deviation.empty(); }
  /// Extents of a sample that the network sees, from those that a data set has under the frame.
  Dims sample_dims(const Dims& dims) const;
  /// The inputs of the network from a batch [n, c, h, w] or [n, columns], f32, that is framed. Throws where the
  /// channels are not those of mean or deviation.
  Tensor apply(Tensor batch) const;
};

/// `own` with what the options say. Each line of options.yaml is taken as a whole: what it does not name is then as in
/// Preprocess{}; a line of which nothing is said stays. Throws for a preset that there is not, and for sides that
/// contradict each other.
Preprocess applied(const PreprocessOptions& options, const Preprocess& own);

/// Keys of JSON: preset, scale, mean, std, bgr, channels_last, resize, crop, size ([height, width]),
/// ignore_orientation. Throws Error that starts with `where`.
PreprocessOptions parse_preprocess_options(const std::string& text, const std::string& where);

/// As JSON; the same text for the same numbers.
std::string to_text(const Preprocess& preprocess);

void set_preprocess(Model& model, const Preprocess& preprocess);
/// The Model's own with what the options say; nothing where they say nothing.
void change_preprocess(Model& model, const PreprocessOptions& options);
/// What the Model says; nothing where it does not.
std::optional<Preprocess> said_preprocess(const Model& model);
/// The same; where it does not say, it takes values as they are.
Preprocess preprocess_of(const Model& model);

}  // namespace halfstep::data
