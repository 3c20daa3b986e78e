// Returns its input, because nothing is dropped outside of training.
#include <algorithm>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Dropout(Translator& translator, const Node& node) {
  node.attribute("ratio"), node.attribute("seed");  // only used in training
  const bool drops_none = node.has_input(1) && element(translator.contents(translator.in(node, 1)), 0) == 0;
  if (!drops_none && node.has_input(2) &&
      integers_of(translator.contents(translator.in(node, 2)), node.where()) != std::vector<int64_t>{0})
    fail(errors::form_not_supported(node.where(), "training_mode", "a node for evaluation",
                                    "export the network for evaluation"));
  const Operand x = translator.in(node, 0);
  translator.set(node, 0, x);
  if (!node.has_output(1)) return;
  if (!x.type().is_static()) fail(errors::depends_on_extents("the mask"));
  constexpr int64_t kMost = int64_t{1} << 28;
  if (count_elements(x.dims()) > kMost)
    fail(errors::constant_too_large(node.where(), "a mask of the extents " + to_string(x.dims()), kMost));
  Tensor mask(DType::boolean, x.dims());
  std::fill(mask.data<bool>().begin(), mask.data<bool>().end(), true);
  translator.set(node, 1, Translator::known(mask));
}

}  // namespace halfstep::formats::onnx
