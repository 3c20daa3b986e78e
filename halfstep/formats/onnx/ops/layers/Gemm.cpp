// alpha * A * B + beta * C: linear if it is a layer, else translated by the record.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {

void translate_Gemm(Translator& translator, const Node& node) {
  const Operand a = translator.in(node, 0), c = translator.in(node, 2);
  Operand b = translator.in(node, 1);
  if (!a.there() || !b.there() || a.dims().size() != 2 || b.dims().size() != 2)
    fail(errors::wrong_extents(node.where(), "", "two matrices"));
  const bool transpose_b = node.integer("transB", 0) != 0;
  const int64_t outputs = b.dims()[transpose_b ? 0 : 1];
  const double beta = node.real("beta", 1);  // no effect without C
  const bool has_bias = c.there() && beta == 1 && c.dims() == Dims{outputs};
  const bool is_layer = node.integer("transA", 0) == 0 && node.real("alpha", 1) == 1 && (has_bias || !c.there());
  if (!is_layer || !is_float(a.type().dtype)) return translator.by_record(node);
  if (!transpose_b) b = translator.make_one(node, "transpose", {b}, {{"perm", std::vector<int64_t>{1, 0}}});
  translator.set(node, 0, translator.make_one(node, "linear", {a, b, c}));
}

}  // namespace halfstep::formats::onnx
