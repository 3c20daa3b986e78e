// Networks that another framework has quantized in training: what its quantizers learned becomes ours.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

/// Largest magnitude that a quantizer had learned, by the name of the value that it quantized.
using LearnedMagnitudes = std::map<std::string, float>;

/// Takes the quantizers of other frameworks out of a float network, alone or in pairs to codes and back. Throws
/// unsupported where codes go into other operators: then the network no longer has the reals that ours quantize.
LearnedMagnitudes take_out_quantizers(Model& model);

/// Gives the feature quantizers of a prepared network the learned ranges, for good: from 0 behind a relu, else to both
/// sides. Observers leave them as they are.
void keep_learned_ranges(Model& prepared, const LearnedMagnitudes& learned);

}  // namespace halfstep::quant
