// Imports networks that another framework quantized in training, and keeps the ranges that its quantizers learned.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::quant {

/// Largest magnitude that a quantizer learned, by the name of the quantized value.
using LearnedMagnitudes = std::map<std::string, float>;

/// Removes quantizers of other frameworks from a float network, single ones or quantize-dequantize pairs. Throws
/// unsupported if other operators read codes, because the float values that our quantizers need are then missing.
LearnedMagnitudes take_out_quantizers(Model& model);

/// Fixes the learned ranges of activation quantizers in a prepared network. A range starts at 0 after a relu, and is
/// symmetric otherwise. Observers do not change it.
void keep_learned_ranges(Model& prepared, const LearnedMagnitudes& learned);

}  // namespace halfstep::quant
