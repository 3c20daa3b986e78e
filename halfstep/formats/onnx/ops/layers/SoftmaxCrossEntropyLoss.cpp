// Classification loss from scores, with the log probabilities as a second result.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/class_loss.h"

namespace halfstep::formats::onnx {

void translate_SoftmaxCrossEntropyLoss(Translator& translator, const Node& node) {
  const Operand x = translator.in(node, 0);
  if (!x.there()) fail(errors::part_missing(node.where(), "the input of scores"));
  const Operand log_probabilities = translator.make_one(node, "log_softmax", {x}, {{"axis", int64_t{1}}});
  translator.set(node, 0, class_loss(translator, node, log_probabilities));
  translator.set(node, 1, log_probabilities);
}

}  // namespace halfstep::formats::onnx
