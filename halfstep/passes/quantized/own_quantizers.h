// Quantizers that a user defines by networks (LearnedQuantizer of kind own).
#pragma once

#include <string>

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

/// Names in the networks of own quantizers. Other arguments are entries of the state and constants.
inline constexpr const char* kOwnInput = "x";  ///< argument: the value to quantize
inline constexpr const char* kOwnResult = "result";
inline constexpr const char* kOwnScale = "scale";  ///< output, with a zero point, if codes exist
inline constexpr const char* kOwnZeroPoint = "zero_point";
/// Name of the output with the derivative of the result with respect to an argument.
std::string own_derivative(const std::string& argument);

/// Replaces a fake_quantize by the network of its own quantizer. If `trains`, gradients are the declared ones.
void open_own_quantizer(Model& model, const LearnedQuantizer& one, const ops::FakeQuantize& quantizer, bool trains);

/// The output with this name, null if there is none.
Value own_output(const Graph& network, const std::string& name);

}  // namespace halfstep::passes
