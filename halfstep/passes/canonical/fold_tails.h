// Layers that take in what multiplies their channels and adds to them behind them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/layer_tail.h"

namespace halfstep::passes {

/// How a weight with its output channels along `axis` lies in memory: [groups, rows, columns, run], where the channel
/// of an element is group * columns + column. Of a transposed convolution the groups lie behind one another along the
/// axis before; all others have one.
struct ChannelLayout {
  ChannelLayout(const Dims& dims, int axis, int64_t channels);
  int64_t groups, rows, columns, run;
};

/// The weight and bias of a layer that takes `affine` in, computed in double and rounded once. A bias that is undefined
/// counts as zeros.
Tensor folded_weight(const Tensor& w, const ChannelAffine& affine, int axis);
Tensor folded_bias(const Tensor& b, const ChannelAffine& affine);

/// What a layer and the normalization behind it had before they became one: the layer with what stood in front of the
/// normalization in it, the normalization with what stood behind.
struct FoldedNorm {
  std::string layer = {}, weight = {}, bias = {};
  Tensor raw_weight = {}, raw_bias = {};  ///< raw_bias is undefined where the layer had none
  std::pair<std::string, Tensor> scale = {}, shift = {}, mean = {}, variance = {};
  double epsilon = 0, momentum = 0;
};

/// A layer that took its tail in.
struct FoldedTail {
  std::string layer;               ///< its name now
  std::string result;              ///< the value that it gives now
  std::optional<FoldedNorm> norm;  ///< the first normalization of the tail
};

/// What a layer is called once it has its tail in it, where nothing stands between.
enum class LayerName { own, of_tail };

/// Which tails layers take in: any, or normalizations and the sum right behind a layer that has no bias yet.
enum class Tails { any, norms_and_biases };

/// A layer, an operation with weights and a bias port, on codes or in float, takes in as much of its tail
/// (layer_tail.h) as it can: its weight and bias become those that give the same, computed in double and rounded once,
/// so float results move by rounding. A part is left as it is, with all behind it, where the bias, or a weight that
/// would change, is no tensor of this operation alone, or f32 does not hold a factor.
///
/// Where the parts stand right behind it, the layer keeps its name, as do its tensors and the graph's outputs. Where
/// reshapes or transposes stand between, the last of them gets the name of the last part, and the layer and the others
/// names that are made of it. A bias that was absent becomes the tensor LAYER.b.
///
/// The first normalization is returned with what it was made of, where the parts around it can be rounded to f32 on
/// their own without more error than one further rounding of the weight or bias has.
std::vector<FoldedTail> fold_tails(Model& model, Tails which = Tails::any);

/// The same for one layer; nothing where it takes nothing in.
std::optional<FoldedTail> fold_tail(Model& model, Op layer, LayerName name, Tails which = Tails::any);

/// The parts of the tail of `layer` that it can take in.
std::vector<TailPart> foldable_tail(const Model& model, Op layer);

}  // namespace halfstep::passes
