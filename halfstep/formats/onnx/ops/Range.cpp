// Numbers from start on in steps, before limit. Both may depend on dynamic extents.
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/number_steps.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Range(Translator& translator, const Node& node) {
  const Operand start = translator.in(node, 0), limit = translator.in(node, 1), step = translator.in(node, 2);
  if (const auto open = open_range(translator, node, {start, limit, step}, limit.type().dtype))
    return translator.set(node, 0, *open);
  const Tensor from = translator.contents(start), to = translator.contents(limit), by = translator.contents(step);
  translator.set(node, 0, Translator::known(range(node, from, to, by)));
}

}  // namespace halfstep::formats::onnx
