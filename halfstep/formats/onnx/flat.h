// Operators along an axis that once worked on all axes from that one on.
#pragma once

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// By the record of opset 13; before, over the axes from `axis` (by default 1) on as one.
void translate_flat(Translator& translator, const Node& node);

}  // namespace halfstep::formats::onnx
