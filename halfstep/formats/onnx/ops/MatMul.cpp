// A matrix product: matmul of matrices or of equal batches of them, of all rows at once where b is one matrix, else
// matmul_broadcast.
#include <algorithm>

#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_MatMul(Translator& translator, const Node& node) {
  const Operand a = translator.in(node, 0), b = translator.in(node, 1);
  if (!a.there() || !b.there()) fail("{}: expected two operands", node.where());
  const Dims x = a.dims(), y = b.dims();
  if (is_float(a.type().dtype) && x.size() >= 2 && y.size() >= 2) {
    if (x.size() == y.size() && std::equal(x.begin(), x.end() - 2, y.begin()))
      return translator.set(node, 0, translator.make_one(node, "matmul", {a, b}));
    if (y.size() == 2 && std::count(x.begin(), x.end() - 1, kUnknown) <= 1 && x.back() > 0) {
      Dims result(x.begin(), x.end() - 1);
      result.push_back(y[1]);
      const Operand rows = translator.reshaped(node, a, {-1, x.back()});
      const Operand product = translator.make_one(node, "matmul", {rows, b});
      return translator.set(node, 0, translator.reshaped(node, product, result));
    }
  }
  translator.set(node, 0, translator.make_one(node, "matmul_broadcast", {a, b}));
}

}  // namespace halfstep::formats::onnx
