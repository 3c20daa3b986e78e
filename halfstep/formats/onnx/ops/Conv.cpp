// A convolution: conv2d over one or two axes, conv over three; auto_pad becomes padding.
#include <algorithm>

#include "halfstep/formats/onnx/shared_forms.h"
#include "halfstep/formats/onnx/window.h"

namespace halfstep::formats::onnx {
namespace {

bool is_negative(int64_t value) { return value < 0; }

}  // namespace

void translate_Conv(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0), w = translator.in(node, 1), b = translator.in(node, 2);
  if (!x.there() || !w.there() || w.dims().size() < 3 || w.dims().size() != x.dims().size())
    fail("{}: expected an input and weights of as many extents, at least 3", node.where());
  const std::vector<int64_t> kernel = kernel_of(node, w);
  const Window window = window_of(node, x.dims(), kernel);
  if (std::any_of(window.pads.begin(), window.pads.end(), is_negative))
    Translator::refuse(node, fmt::format("attribute pads = {} is not supported", to_string(window.pads)));

  const bool is_flat = kernel.size() <= 2;
  const Window shown = is_flat ? as_plane(window) : window;
  const Attributes attributes = {{"groups", node.integer("group", 1)},
                                 {"stride", shown.strides},
                                 {"dilation", shown.dilations},
                                 {"pad", shown.pads}};
  if (!is_flat) return translator.set(node, 0, translator.make_one(node, "conv", {x, w, b}, attributes));
  const Operand y = translator.make_one(node, "conv2d",
                                        {as_plane(translator, node, x), as_plane(translator, node, w), b}, attributes);
  translator.set(node, 0, kernel.size() == 1 ? as_line(translator, node, y) : y);
}

}  // namespace halfstep::formats::onnx
