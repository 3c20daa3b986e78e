// A convolution over one or two axes; auto_pad becomes padding.
#include "halfstep/formats/onnx/window.h"

namespace halfstep::formats::onnx {

void translate_Conv(Translator& translator, const Node& node) {
  std::vector<Operand> inputs = translator.inputs(node);
  if (inputs.size() < 2 || !inputs[0].there() || !inputs[1].there())
    fail("{}: found {} inputs, expected 2 or 3", node.where(), inputs.size());
  const Dims x = inputs[0].dims(), w = inputs[1].dims();
  if (w.size() < 3 || w.size() != x.size())
    fail("{}: found the extents {} and {}", node.where(), to_string(x), to_string(w));
  const std::vector<int64_t> kernel(w.begin() + 2, w.end());
  if (const auto said = node.integers("kernel_shape"); said && *said != kernel)
    fail("{}: kernel_shape is {}, but the weights have {}", node.where(), to_string(*said), to_string(kernel));
  const Node whole = with_full_window(node, x, kernel).without("kernel_shape");
  if (x.size() != 3) return translator.set_all(node, translator.by_record(whole, inputs));
  const auto planes = translator.by_record(as_plane(whole), as_planes(translator, node, inputs));
  translator.set(node, 0, as_line(translator, node, planes[0]));
}

}  // namespace halfstep::formats::onnx
