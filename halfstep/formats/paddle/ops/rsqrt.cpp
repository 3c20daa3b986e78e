// 1 over the square root.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_rsqrt(Translator& translator, const Node& node) {
  const Operand root = translator.make_one(node, "sqrt", {translator.require(node, {"X", 0})});
  translator.set(node, {"Out", 0}, translator.make_one(node, "reciprocal", {root}));
}

}  // namespace halfstep::formats::paddle
