// Classification loss from log probabilities.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/class_loss.h"

namespace halfstep::formats::onnx {

void translate_NegativeLogLikelihoodLoss(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  if (!x.there()) fail(errors::part_missing(node.where(), "an input"));
  translator.set(node, 0, class_loss(translator, node, x));
}

}  // namespace halfstep::formats::onnx
