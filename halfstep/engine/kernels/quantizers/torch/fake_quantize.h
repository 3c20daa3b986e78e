// Parts that the kernels of the fake quantizers without observer share: operands, attributes, and parameters of a
// channel.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/common/channels.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/quantizers/torch/parameters.h"

namespace halfstep::kernels::torch {

enum class RuleKind { tensor, channel, float_zero };

/// One use of such an operator, forward or backward. `out_grad` is -1 in a forward pass.
struct FakeQuantizer {
  RuleKind rule = RuleKind::tensor;
  Grid grid;
  Channels channels;
  DType dtype = DType::f32;
  bool copies = false;  ///< quantizes nothing: the result is x, or out_grad in a backward pass
  int x = 0, out_grad = -1;
  Parameters fixed;  ///< parameters that are attributes
  ZeroPointForm form = ZeroPointForm::fixed;
  ZeroPointRange legal = ZeroPointRange::any;

  /// `Op` is the generated struct of the operator.
  template <class Op>
  static FakeQuantizer of(const Problem& problem);

  ParameterSource parameters(const Call& call) const;
  /// Checks that the zero points are legal.
  Status check(const Call& call) const;
  /// Error for the illegal zero point `zero` of a channel.
  Status refused(const ParameterSource& source, int64_t channel, double zero) const;
};

/// Calls body.template operator()<Rule>() with the class of a RuleKind.
template <class Body>
decltype(auto) with_rule(RuleKind kind, Body&& body) {
  switch (kind) {
    case RuleKind::channel: return body.template operator()<ChannelRule>();
    case RuleKind::float_zero: return body.template operator()<FloatZeroRule>();
    case RuleKind::tensor: break;
  }
  return body.template operator()<TensorRule>();
}

}  // namespace halfstep::kernels::torch
