// Converts the values of a data set (pixels) into the inputs of a network. The conversion is stored with the Model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/data/datasets/frame.h"
#include "halfstep/data/pipeline/options.h"

namespace halfstep::data {

/// Applies the frame to pictures, then x = (value * scale - mean[c]) / deviation[c], in float32 in this order. c is the
/// channel in the order of the network.
struct Preprocess {
  float scale = 1.0F;
  std::vector<float> mean = {};       ///< one per channel or one for all (empty: 0)
  std::vector<float> deviation = {};  ///< one per channel or one for all (empty: 1)
  bool reverses_channels = false;     ///< convert RGB to BGR. `mean` and `deviation` are in BGR order then
  bool channels_last = false;         ///< the network takes [n, h, w, c], while a data set has [n, c, h, w]
  data::Frame frame = {};

  bool operator==(const Preprocess&) const = default;

  /// Whether values reach the network unchanged.
  bool keeps_values() const { return scale == 1 && mean.empty() && deviation.empty(); }
  /// Shape of a sample as the network takes it, for its shape in the data set under the frame.
  Dims sample_dims(const Dims& dims) const;
  /// Network inputs for a framed f32 batch [n, c, h, w] or [n, columns]. Throws if the number of channels differs from
  /// that of mean or deviation.
  Tensor apply(Tensor batch) const;
};

/// `own`, changed by `options`. Two groups are replaced as a whole: scale, mean and std (or a preset), and resize, crop
/// and size. If one option of a group is set, the unset ones get the values of the preset or of Preprocess{}. Other
/// unset options stay. Throws for an unknown preset or contradicting sides.
Preprocess applied(const PreprocessOptions& options, const Preprocess& own);

/// Keys of the JSON object: preset, scale, mean, std, bgr, channels_last, resize, crop, size ([height, width]),
/// ignore_orientation. Throws an Error that starts with `where`.
PreprocessOptions parse_preprocess_options(const std::string& text, const std::string& where);

/// Serializes as JSON. Equal values have equal text.
std::string to_text(const Preprocess& preprocess);

void set_preprocess(Model& model, const Preprocess& preprocess);
/// Changes the Model's preprocessing by `options`. Does nothing if no option is set.
void change_preprocess(Model& model, const PreprocessOptions& options);
/// The preprocessing stored in the Model, if any.
std::optional<Preprocess> said_preprocess(const Model& model);
/// The preprocessing stored in the Model. Without one, values stay unchanged.
Preprocess preprocess_of(const Model& model);

}  // namespace halfstep::data
