// Numbers from start on in steps, before end, which may depend on open extents.
#include "halfstep/formats/open_extents.h"
#include "halfstep/formats/paddle/translator.h"
#include "halfstep/formats/range.h"

namespace halfstep::formats::paddle {

void translate_arange(Translator& translator, const Node& node) {
  // In the type of the result, which PIR says.
  const bool has_type = node.attribute("dtype") != nullptr;
  const auto number = [&](const Port& port) {
    Tensor tensor = translator.contents(translator.require(node, port));
    if (!has_type || tensor.size() != 1) return tensor;
    return filled(dtype_of(node, "dtype"), tensor.dims(), element(tensor, 0));
  };
  if (const Operand end = translator.require(node, {"End", 1}); end.elements) {
    const auto start = translator.elements(translator.require(node, {"Start", 0}));
    if (!start) throw NeedsExtents("it depends on open extents of the inputs, and on more");
    const Operand step = translator.require(node, {"Step", 2});
    return translator.set(node, {"Out", 0}, open_range(translator, node, *start, *end.elements, step));
  }
  const Tensor start = number({"Start", 0}), end = number({"End", 1}), step = number({"Step", 2});
  translator.set(node, {"Out", 0}, Translator::known(range(node, start, end, step)));
}

}  // namespace halfstep::formats::paddle
