// Passes codes instead of float values into the regions of loops and branches, and out of them.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Regions of an integer program have float arguments and results, so that each can be verified alone. Between them and
/// the codes inside are quantize and dequantize. This pass
///
/// - quantizes a value once, outside of the region, if the region only quantizes it. The state of a loop needs the same
///   scale at the end of an iteration. If there may be no iteration, readers of its result must quantize it too
/// - dequantizes a result outside of the region
/// - removes a quantize that makes the codes again that a dequantize read.
///
/// Codes do not change. Reads scales and zero points, which must not change afterwards.
void coded_regions(Model& model);

}  // namespace halfstep::passes
