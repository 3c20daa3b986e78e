// The float network inside a prepared one.
#pragma once

#include <functional>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Readers of every operation of trait quantizer read its x instead, and the quantizer goes; observers stay. What
/// calibration runs. Throws Error where another result of a quantizer has a reader. What is left is a float network.
void bypass_quantizers(Model& model);

/// The same of the quantizers alone that `goes` says; the stage stays.
void bypass_quantizers(Graph& graph, const std::function<bool(Op)>& goes);

}  // namespace halfstep::passes
