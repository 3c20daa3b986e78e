// A matrix product: matmul of matrices or of equal batches of them, and of all rows at once if b is one matrix.
// Otherwise matmul_broadcast.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/numpy_matmul.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_MatMul(Translator& translator, const Node& node) {
  const Operand a = translator.in(node, 0), b = translator.in(node, 1);
  if (!a.there() || !b.there()) fail(errors::part_missing(node.where(), "one of two inputs"));
  translator.set(node, 0, matrix_product(translator, node, a, b));
}

}  // namespace halfstep::formats::onnx
