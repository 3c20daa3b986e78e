// The same elements under extents that are known; 0 keeps one unless allowzero says that it is 0.
#include <algorithm>

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Reshape(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0), shape = translator.in(node, 1);
  const auto attribute = node.integers("shape");
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  if (!shape.there() && !attribute) fail("{}: found no extents", node.where());
  Dims dims;
  size_t open = 0;
  if (shape.elements && !shape.elements->known()) {
    for (const auto& value : shape.elements->values) {
      dims.push_back(value.value_or(-1));
      open += value && *value != -1 ? 0 : 1;
    }
    if (open > 1) throw NeedsExtents(node.where() + ": more than one extent of the result depends on open extents");
  } else {
    dims = shape.there() ? translator.integers(node, shape) : *attribute;
  }
  const Dims from = x.dims();
  const bool has_zero = std::count(dims.begin(), dims.end(), 0) > 0;
  if (has_zero && zero_is_zero) {
    // The result is empty, so x is; our 0 keeps an extent. An empty tensor of these extents is known.
    if (std::count(dims.begin(), dims.end(), -1) > 0) fail("{}: found 0 and -1 with allowzero", node.where());
    if (!x.type().is_static() || count_elements(from) != 0)
      fail("{}: found {}, expected no elements", node.where(), to_string(x.type()));
    return translator.set(node, 0, Translator::known(Tensor(x.type().dtype, dims)));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 0) continue;
    if (i >= from.size())
      fail("{}: extent {} is 0, but the input has the extents {}", node.where(), i, to_string(from));
    if (from[i] != kUnknown && from[i] != 0) dims[i] = from[i];
  }
  translator.set(node, 0, translator.reshaped(node, x, dims));
}

}  // namespace halfstep::formats::onnx
