// Reshapes to other extents, where 0 keeps an extent and -1 is inferred.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_reshape(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  Dims dims = translator.integers(node, "shape", 1);
  const Dims from = x.dims();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != 0) continue;
    if (i >= from.size()) fail(errors::reshape_keeps_missing_axis(node.where(), i, to_string(from)));
    if (from[i] != kUnknown && from[i] != 0) dims[i] = from[i];
  }
  translator.set(node, {"Out", 0}, translator.reshaped(node, x, dims));
}

}  // namespace halfstep::formats::paddle
