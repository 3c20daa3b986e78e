// The tail of a layer: operators behind it that multiply its channels by stored numbers and add stored numbers to them.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

/// y * factor + offset, by channel of y.
struct ChannelAffine {
  std::vector<double> factor, offset;

  /// Whether a factor is not 1.
  bool scales() const;
  bool adds() const;
  /// Whether factors are 0 or normal as f32, and offsets finite.
  bool fits_f32() const;
};

/// y * 1 + 0.
ChannelAffine no_affine(size_t channels);
/// First `inner`, then `outer`.
ChannelAffine composed(const ChannelAffine& inner, const ChannelAffine& outer);
/// A normalization by running statistics.
ChannelAffine norm_affine(const Tensor& scale, const Tensor& shift, const Tensor& mean, const Tensor& variance,
                          double epsilon);

/// The number of each channel of y, which are `axis`, where a value is stored, or computed of stored ones alone, and is
/// broadcast to y along all other axes; nothing elsewhere.
std::optional<std::vector<double>> numbers_by_channel(const Model& model, Value value, const Dims& y, size_t axis);

/// One operator of a tail.
struct TailPart {
  Op op;
  int port;  ///< of the operand that the layer made
  ChannelAffine affine;
  std::vector<Op> moves;  ///< reshapes and transposes between the part before, or the layer, and this one
};

/// The operators behind `layer`, whose channels are axis 1, each the only reader of the one before: batch_norm with
/// is_test true, and what kAffineForms (layer_tail.cpp) has, by numbers that are equal along all axes but that of the
/// channels. Reshapes and transposes may stand between them that keep the channels an axis of their own. Numbers are
/// finite, each part fits f32, but for a batch_norm, and no sum hides elements (kHidden).
std::vector<TailPart> tail_of(const Model& model, Op layer);

}  // namespace halfstep::passes
