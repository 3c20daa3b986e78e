// The tail of a layer: operators after it that multiply its channels by stored numbers and add stored numbers to them.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

/// y * factor + offset, by channel of y.
struct ChannelAffine {
  std::vector<double> factor, offset;

  /// Whether any factor differs from 1.
  bool scales() const;
  bool adds() const;
  /// Whether factors are 0 or normal numbers in f32, and offsets finite.
  bool fits_f32() const;
};

/// Returns y * 1 + 0.
ChannelAffine no_affine(size_t channels);
/// Applies first `inner`, then `outer`.
ChannelAffine composed(const ChannelAffine& inner, const ChannelAffine& outer);
/// Returns the affine of a normalization by running statistics.
ChannelAffine norm_affine(const Tensor& scale, const Tensor& shift, const Tensor& mean, const Tensor& variance,
                          double epsilon);

/// Returns one number for each channel of y, along `axis`. The value must be stored or computed from stored values
/// only, and be broadcast to y along all other axes. Returns nothing otherwise.
std::optional<std::vector<double>> numbers_by_channel(const Model& model, Value value, const Dims& y, size_t axis);

/// One operator of a tail.
struct TailPart {
  Op op;
  int port;  ///< port of the operand from the layer
  ChannelAffine affine;
  std::vector<Op> moves;  ///< reshapes and transposes between the previous part, or the layer, and this one
};

/// Returns the operators after `layer`, whose channels are axis 1. Each is the only reader of the one before. Parts are
/// batch_norm with is_test true and the operators of kAffineForms (layer_tail.cpp) with numbers that are equal along
/// all axes except channels. Reshapes and transposes that keep the channels a separate axis may lie between. Numbers
/// are finite, each part except a batch_norm fits f32, and no sum hides elements (kHidden).
std::vector<TailPart> tail_of(const Model& model, Op layer);

}  // namespace halfstep::passes
