// Extracts the float network from a prepared one.
#pragma once

#include <functional>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Removes every operation of trait quantizer and connects its readers to its x. Observers stay. The result is a float
/// network, which calibration runs. Throws Error if another result of a quantizer has a reader.
void bypass_quantizers(Model& model);

/// Removes only the quantizers for which `goes` is true. The stage stays.
void bypass_quantizers(Graph& graph, const std::function<bool(Op)>& goes);

}  // namespace halfstep::passes
