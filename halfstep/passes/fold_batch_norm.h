// Batch normalization folded into the layer before it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halfstep/ir/model.h"

namespace halfstep::passes {

/// A normalization by running statistics: y * factor + offset, by channel.
struct NormFactors {
  std::vector<double> factor, offset;
};
NormFactors norm_factors(const Tensor& scale, const Tensor& shift, const Tensor& mean, const Tensor& variance,
                         double epsilon);

/// How a weight with its output channels along `axis` lies in memory: [groups, rows, columns, run], where the channel
/// of an element is group * columns + column. Of a transposed convolution the groups lie behind one another along the
/// axis before; all others have one.
struct ChannelLayout {
  ChannelLayout(const Dims& dims, int axis, int64_t channels);
  int64_t groups, rows, columns, run;
};

/// The weight and bias of a layer that takes a normalization in, computed in double and rounded once. A bias that is
/// undefined counts as zeros.
Tensor folded_weight(const Tensor& w, const NormFactors& norm, int axis);
Tensor folded_bias(const Tensor& b, const NormFactors& norm);

/// What a layer and the normalization behind it had before they became one.
struct FoldedNorm {
  std::string layer = {}, weight = {}, bias = {};
  Tensor raw_weight = {}, raw_bias = {};  ///< raw_bias is undefined where the layer had none
  std::pair<std::string, Tensor> scale = {}, shift = {}, mean = {}, variance = {};
  double epsilon = 0, momentum = 0;
};

/// An operation with weights, on codes or in float, then batch_norm with is_test true, becomes the operation alone: its
/// weight and bias take the normalization in, computed in double and rounded once, so float results move by rounding.
/// It keeps its name, as do its tensors and the graph's outputs; the normalization's own name and tensors go. A bias
/// that was absent becomes the tensor NAME.b. Left as it is: where the normalization is not the only reader, or the
/// weight or bias is no tensor of this operation alone. Returns what was folded.
std::vector<FoldedNorm> fold_batch_norm(Model& model);

}  // namespace halfstep::passes
