// What has codes in a network to be quantized: the one place that decides it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/insertion.h"

namespace halfstep::quant {

struct CodePlan {
  std::map<const detail::OpNode*, std::string> in_float;  ///< operators that stay in float, with the reason
  std::map<const detail::OpNode*, Op> activation;         ///< by operator on codes, the activation that fuses into it
  bool is_float(Op op) const { return in_float.contains(op.node()); }
  bool is_real(Value value) const { return value.producer() && is_float(value.producer()); }
  /// The activation that fuses into `op`, or null.
  Op activation_of(Op op) const;
  /// The result of `op` that gets a quantizer: that of the activation that fuses into it, or its own.
  Value result_of(Op op) const;
};

/// By operator, the pattern that asked for it, in words.
using AskedLayers = std::map<const detail::OpNode*, std::string>;

/// An operator has codes where the operator on codes takes its attributes, operands and extents as they are, and at
/// least one operand has codes or is an input of the network; all others stay in float, as does what `in_float`
/// names.
///
/// With `insertion`, where a target's own rules put quantizers, an operator has codes where, besides, all that comes to
/// it has codes and its result has a quantizer, or is the codes that came; activations fuse in front of a quantizer.
CodePlan plan_codes(const Model& model, const Platform& platform, const AskedLayers& in_float,
                    const Insertion* insertion = nullptr);

/// The operators that a pattern of `patterns`, given as `option`, fits, with what is in their regions. Throws where one
/// fits none.
AskedLayers asked_layers(const Model& model, const std::vector<std::string>& patterns, const char* option);

/// Whether it is for such a pattern that an operator stays in float.
bool was_asked_for(const std::string& reason);

/// Whether that says no more than that something in front of it stays in float, or that what reads it takes no codes.
bool is_of_another(const std::string& reason);

/// The operators that a pattern of `in_float` fits, and those outside of the regions that markers bound.
AskedLayers staying_in_float(const Model& model, const std::vector<std::string>& in_float);

}  // namespace halfstep::quant
