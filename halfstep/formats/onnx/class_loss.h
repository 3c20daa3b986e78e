// Classification losses.
#pragma once

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// Returns -log_probabilities[n, target, ...] times the weight of the target, without elements of ignore_index, reduced
/// by the node's `reduction`. Shapes: log_probabilities[n, c, ...], target[n, ...].
Operand class_loss(Translator& translator, const Node& node, const Operand& log_probabilities);

}  // namespace halfstep::formats::onnx
