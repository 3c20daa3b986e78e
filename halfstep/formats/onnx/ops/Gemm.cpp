// alpha * A * B + beta * C: a linear layer where it is one, else a product, multiplications and a sum.
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Gemm(Translator& translator, const Node& node) {
  Operand a = translator.in(node, 0), b = translator.in(node, 1), c = translator.in(node, 2);
  const double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  const bool transpose_a = node.integer("transA", 0) != 0, transpose_b = node.integer("transB", 0) != 0;
  if (!a.there() || !b.there() || a.dims().size() != 2 || b.dims().size() != 2)
    fail("{}: expected two matrices", node.where());
  const int64_t outputs = b.dims()[transpose_b ? 0 : 1];
  const bool is_bias = !c.there() || (beta == 1 && c.dims() == Dims{outputs});
  if (!transpose_a && alpha == 1 && is_bias) {
    if (!transpose_b) b = translator.make_one(node, "transpose", {b}, {{"perm", std::vector<int64_t>{1, 0}}});
    return translator.set(node, 0, translator.make_one(node, "linear", {a, b, c}));
  }
  const auto scaled = [&](const Operand& x, double factor) {
    if (factor == 1) return x;
    return translator.make_one(node, "mul", {x, Translator::known(filled(x.type().dtype, {1}, factor))});
  };
  const Operand product =
      translator.make_one(node, "matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
  const Operand sum = scaled(product, alpha);
  translator.set(node, 0, c.there() ? translator.make_one(node, "add", {sum, scaled(c, beta)}) : sum);
}

}  // namespace halfstep::formats::onnx
