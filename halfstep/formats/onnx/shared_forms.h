// Translations that several foreign operators share.
#pragma once

#include "halfstep/formats/builder/window_attributes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// Returns the spatial extents of a convolution's weights, [o, i, ...]. kernel_shape may only repeat them.
std::vector<int64_t> kernel_of(const Node& node, const Operand& weights);

/// Returns the node's window over an input of `dims`, [n, c, ...]. auto_pad becomes padding.
Window window_of(const Node& node, const Dims& dims, std::vector<int64_t> kernel);

/// Translates a pool with the node's window. `attributes` are those besides the window. With `counts_padding`, padding
/// affects the result.
void translate_pool(Translator& translator, const Node& node, std::string_view plane, std::string_view general,
                    const Attributes& attributes, bool counts_padding);

/// Translates by the record, without kernel_shape. `weights` is the index of their input.
void translate_convolution(Translator& translator, const Node& node, size_t weights);

/// Translates by the record, without hidden_size, which only repeats an extent of the recurrent weights.
void translate_recurrent(Translator& translator, const Node& node);

/// Translates by the record. A zero point of one element takes the extents of the scale, which may be [] or [1].
void translate_affine(Translator& translator, const Node& node);

/// Translates by the record. With noop_with_empty_axes and no axes the input is returned.
void translate_reduction(Translator& translator, const Node& node);

}  // namespace halfstep::formats::onnx
