// Windows of convolutions and pools: what ONNX leaves open, worked out.
#pragma once

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// The node with kernel_shape, strides, dilations and pads as lists of their full length, and without auto_pad and
/// ceil_mode: these become padding. `dims` of the input, [n, c, ...]. Refuses what padding cannot say.
Node with_full_window(const Node& node, const Dims& dims, std::vector<int64_t> kernel);

/// A node over one spatial axis as the same over two, the first of extent 1: its lists and, of `inputs`, those with
/// three extents. The result of the caller's translation goes back through `as_line`.
Node as_plane(const Node& node);
std::vector<Operand> as_planes(Translator& translator, const Node& node, std::vector<Operand> inputs);
Operand as_line(Translator& translator, const Node& node, const Operand& plane);

/// A pool by the record of its name, over one or two axes.
void translate_pool(Translator& translator, const Node& node);

}  // namespace halfstep::formats::onnx
