// A convolution: conv2d over one or two axes, conv over three. auto_pad becomes padding.
#include <algorithm>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/shared_forms.h"

namespace halfstep::formats::onnx {
namespace {

bool is_negative(int64_t value) { return value < 0; }

}  // namespace

void translate_Conv(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0), w = translator.in(node, 1), b = translator.in(node, 2);
  if (!x.there() || !w.there() || w.dims().size() < 3 || w.dims().size() != x.dims().size())
    fail(errors::wrong_extents(node.where(), "", "an input and weights with equally many extents, at least 3"));
  const std::vector<int64_t> kernel = kernel_of(node, w);
  const Window window = window_of(node, x.dims(), kernel);
  if (std::any_of(window.pads.begin(), window.pads.end(), is_negative))
    fail(errors::attribute_not_supported(node.where(), "pads = " + to_string(window.pads)));
  translator.set(node, 0, convolution(translator, node, {x, w, b}, window, node.integer("group", 1)));
}

}  // namespace halfstep::formats::onnx
