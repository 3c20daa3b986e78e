// Windows of convolutions and pools: what ONNX leaves open, worked out.
#pragma once

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

/// Lists with a number for each spatial axis; pads holds all begins, then all ends.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;
  /// What pads must hold besides at the ends so that no last window hangs over: 0 without ceil_mode.
  std::vector<int64_t> ceil_pads;
};

/// The node's window over an input of `dims`, [n, c, ...]; auto_pad becomes padding.
Window window_of(const Node& node, const Dims& dims, std::vector<int64_t> kernel);

/// A window over one axis as one over two, the first of extent 1; and values [n, c, w] as [n, c, 1, w], and back.
Window as_plane(const Window& window);
Operand as_plane(Translator& translator, const Node& node, const Operand& line);
Operand as_line(Translator& translator, const Node& node, const Operand& plane);

/// A pool: by `plane`, which has fast kernels, where it can say it, else by `general`. `attributes` are those besides
/// the window; with `counts_padding` padding is not free of meaning.
void translate_pool(Translator& translator, const Node& node, std::string_view plane, std::string_view general,
                    const Attributes& attributes, bool counts_padding);

}  // namespace halfstep::formats::onnx
