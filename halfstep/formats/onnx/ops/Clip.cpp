// Clamps between two bounds, which are attributes before opset 11.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Clip(Translator& translator, const Node& node) {
  constexpr int64_t kBoundsAreInputs = 11;
  if (node.version() >= kBoundsAreInputs) return translator.by_record(node);
  const Operand x = translator.in(node, 0);
  const auto bound = [&](const char* name) {
    if (node.attribute(name) == nullptr) return Operand();
    return Translator::known(filled(x.type().dtype, {}, node.real(name, 0)));
  };
  const Node plain = node.without("min").without("max").with_version(kBoundsAreInputs);
  translator.set_all(node, translator.by_record(plain, {x, bound("min"), bound("max")}));
}

}  // namespace halfstep::formats::onnx
