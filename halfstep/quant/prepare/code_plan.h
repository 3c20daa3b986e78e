// Decides which values of a network have codes. No other module makes this decision.
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
  std::map<const detail::OpNode*, Op> activation;  ///< activation function that fuses into an operator on codes, by
                                                   ///< operator
  bool is_float(Op op) const { return in_float.contains(op.node()); }
  bool is_real(Value value) const { return value.producer() && is_float(value.producer()); }
  /// The activation function that fuses into `op`, or null.
  Op activation_of(Op op) const;
  /// The result of `op` that gets a quantizer: the result of the fused activation function, or its own.
  Value result_of(Op op) const;
};

/// Whether a requantization has a factor for the negative accumulators of an activation function. Without it the
/// function becomes a table.
bool has_factor(Op activation, const Platform& platform);

/// For each operator, the pattern that selected it, as text.
using AskedLayers = std::map<const detail::OpNode*, std::string>;

/// An operator has codes under two conditions. Its integer implementation supports its attributes, operands and
/// extents, and at least one operand has codes or is an input of the network. All other operators stay in float, and so
/// do the operators in `in_float`.
///
/// With `insertion`, the target's own rules place quantizers. An operator then also needs codes for all its inputs, and
/// a quantizer on its result. An operator that moves codes needs no quantizer on its result. Activation functions fuse
/// if a quantizer follows them.
CodePlan plan_codes(const Model& model, const Platform& platform, const AskedLayers& in_float,
                    const Insertion* insertion = nullptr);

/// The operators that a pattern of `patterns` selects, with the operators in their regions. `option` names the option
/// in messages. Throws if a pattern selects nothing.
AskedLayers asked_layers(const Model& model, const std::vector<std::string>& patterns, const char* option);

/// Whether the reason for float is a pattern of the user.
bool was_asked_for(const std::string& reason);

/// Whether the reason is that Halfstep has no integer implementation of the operator in its form.
bool has_no_form(const std::string& reason);

/// Whether the reason is only that a preceding operator is in float, or that the reader supports no codes.
bool is_of_another(const std::string& reason);

/// The operators that a pattern of `in_float` selects, and the operators outside of the regions that markers bound.
AskedLayers staying_in_float(const Model& model, const std::vector<std::string>& in_float);

}  // namespace halfstep::quant
