// x clamped between two numbers.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_clip(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const auto bound = [&](const char* name, size_t position) {
    return Translator::known(filled(x.type().dtype, {}, translator.number(node, name, position, 0)));
  };
  const Operand lowest = bound("min", 1), highest = bound("max", 2);
  translator.set(node, {"Out", 0}, translator.make_one(node, "clip", {x, lowest, highest}));
}

}  // namespace halfstep::formats::paddle
