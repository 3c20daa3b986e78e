// The loss of classes from the logarithms of their probabilities.
#include "halfstep/formats/onnx/class_loss.h"

namespace halfstep::formats::onnx {

void translate_NegativeLogLikelihoodLoss(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  if (!x.there()) fail("{}: found no input", node.where());
  translator.set(node, 0, class_loss(translator, node, x));
}

}  // namespace halfstep::formats::onnx
