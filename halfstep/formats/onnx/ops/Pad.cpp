// Translates by the record. The value is an attribute before opset 11.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Pad(Translator& translator, const Node& node) {
  constexpr int64_t kValueIsInput = 11;
  if (node.version() >= kValueIsInput || node.attribute("value") == nullptr) return translator.by_record(node);
  const Operand x = translator.in(node, 0);
  if (!x.there()) fail(errors::part_missing(node.where(), "an input"));
  const Operand value = Translator::known(filled(x.type().dtype, {}, node.real("value", 0)));
  translator.set_all(node, translator.by_record(node.without("value"), {x, value}));
}

}  // namespace halfstep::formats::onnx
