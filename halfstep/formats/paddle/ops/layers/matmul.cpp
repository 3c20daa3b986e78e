// A matrix product, optionally with transposed matrices.
#include <numeric>
#include <utility>

#include "halfstep/formats/builder/numpy_matmul.h"
#include "halfstep/formats/paddle/shared_forms.h"

namespace halfstep::formats::paddle {
namespace {

Operand transposed(Translator& translator, const Node& node, const Operand& matrix) {
  std::vector<int64_t> perm(matrix.dims().size());
  if (perm.size() < 2) return matrix;
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return translator.make_one(node, "transpose", {matrix}, {{"perm", perm}});
}

}  // namespace

void translate_matmul(Translator& translator, const Node& node) {
  const bool numbered = node.numbers_slots();
  Operand a = translator.require(node, {"X", 0});
  Operand b = as_float(translator, node, translator.require(node, {"Y", 1}), a);
  if (node.flag(numbered ? "transpose_x" : "trans_x", false)) a = transposed(translator, node, a);
  if (node.flag(numbered ? "transpose_y" : "trans_y", false)) b = transposed(translator, node, b);
  translator.set(node, {"Out", 0}, matrix_product(translator, node, a, b));
}

}  // namespace halfstep::formats::paddle
