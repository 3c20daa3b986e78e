// x times itself.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_square(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  translator.set(node, {"Out", 0}, translator.make_one(node, "mul", {x, x}));
}

}  // namespace halfstep::formats::paddle
