// x to the power of one number.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_pow(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const double factor = translator.number(node, node.numbers_slots() ? "y" : "factor", 1, 1);
  const Operand power = Translator::known(filled(x.type().dtype, {}, factor));
  translator.set(node, {"Out", 0}, translator.make_one(node, "power", {x, power}));
}

}  // namespace halfstep::formats::paddle
