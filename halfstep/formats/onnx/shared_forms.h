// Translations that several foreign operators share.
#pragma once

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// The spatial extents of a convolution's weights, [o, i, ...]; kernel_shape may only repeat them.
std::vector<int64_t> kernel_of(const Node& node, const Operand& weights);

/// By the record, without kernel_shape. `weights`: their input.
void translate_convolution(Translator& translator, const Node& node, size_t weights);

/// By the record, without hidden_size, which only repeats an extent of the recurrent weights.
void translate_recurrent(Translator& translator, const Node& node);

/// By the record; a zero point of one element takes the extents of the scale, which may be [] or [1].
void translate_affine(Translator& translator, const Node& node);

/// By the record, but for noop_with_empty_axes: then no axes mean that nothing is done.
void translate_reduction(Translator& translator, const Node& node);

}  // namespace halfstep::formats::onnx
