// Inserts axes of extent 1.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_unsqueeze(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const Attributes attributes = {{"axes", translator.integers(node, "axes", 1)}};
  translator.set(node, {"Out", 0}, translator.make_one(node, "unsqueeze", {x}, attributes));
}

}  // namespace halfstep::formats::paddle
