// Folds operators that scale and shift channels into the layer before them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/layer_tail.h"

namespace halfstep::passes {

/// Memory layout of a weight with its output channels along `axis`: [groups, rows, columns, run]. The channel of an
/// element is group * columns + column. Groups of a transposed convolution follow each other along the axis before
/// `axis`. All other weights have one group.
struct ChannelLayout {
  ChannelLayout(const Dims& dims, int axis, int64_t channels);
  int64_t groups, rows, columns, run;
};

/// Return the weight and bias of a layer with `affine` folded in, computed in double and rounded once. An undefined
/// bias counts as zeros.
Tensor folded_weight(const Tensor& w, const ChannelAffine& affine, int axis);
Tensor folded_bias(const Tensor& b, const ChannelAffine& affine);

/// Parameters of a layer and its normalization before they were folded. The layer contains the parts before the
/// normalization, and the normalization contains the parts after it.
struct FoldedNorm {
  std::string layer = {}, weight = {}, bias = {};
  Tensor raw_weight = {}, raw_bias = {};  ///< raw_bias is undefined if the layer had none
  std::pair<std::string, Tensor> scale = {}, shift = {}, mean = {}, variance = {};
  double epsilon = 0, momentum = 0;
};

/// A layer whose tail was folded in.
struct FoldedTail {
  std::string layer;               ///< its new name
  std::string result;              ///< the value that it produces now
  std::optional<FoldedNorm> norm;  ///< first normalization of the tail
};

/// Name of a layer with its tail folded in, if no operator lies between them.
enum class LayerName { own, of_tail };

/// Tails that are folded: any, or only normalizations and the sum directly after a layer without bias.
enum class Tails { any, norms_and_biases };

/// Folds as much of the tail (layer_tail.h) of each layer as possible into its weight and bias. A layer is an operation
/// with weights and a bias port, on codes or in float. New weights are computed in double and rounded once, so float
/// results differ by rounding. A part and all parts after it stay unchanged in two cases. First, the bias, or a weight
/// that would change, is not a tensor of this operation alone. Second, f32 does not hold a factor.
///
/// If the parts follow the layer directly, the layer, its tensors and the graph's outputs keep their names. If reshapes
/// or transposes lie between, the last of them gets the name of the last part. The layer and the others get names
/// derived from it. A new bias is the tensor LAYER.b.
///
/// Returns the first normalization with its source tensors. Its other parts must round to f32 separately with no more
/// error than one further rounding of the weight or bias.
std::vector<FoldedTail> fold_tails(Model& model, Tails which = Tails::any);

/// Folds the tail of one layer. Returns nothing if nothing was folded.
std::optional<FoldedTail> fold_tail(Model& model, Op layer, LayerName name, Tails which = Tails::any);

/// Returns the parts of the tail that `layer` can fold.
std::vector<TailPart> foldable_tail(const Model& model, Op layer);

}  // namespace halfstep::passes
