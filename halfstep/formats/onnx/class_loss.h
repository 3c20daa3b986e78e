// Losses of classes.
#pragma once

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// -log_probabilities[n, target, ...] times the weight of the target, without those of ignore_index, as the node's
/// `reduction` says. log_probabilities[n, c, ...], target[n, ...].
Operand class_loss(Translator& translator, const Node& node, const Operand& log_probabilities);

}  // namespace halfstep::formats::onnx
