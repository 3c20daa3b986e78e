// x * scale + bias, or (x + bias) * scale, in x's own type.
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_scale(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const DType dtype = x.type().dtype;
  const auto constant = [&](double value) {
    return Translator::known(filled(dtype, {}, is_float(dtype) ? value : std::trunc(value)));
  };
  const double scale = translator.number(node, "scale", 1, 1), bias = node.real("bias", 0);
  const bool bias_last = node.flag("bias_after_scale", true);
  Operand result = x;
  const auto add = [&] {
    if (bias != 0) result = translator.make_one(node, "add", {result, constant(bias)});
  };
  if (!bias_last) add();
  if (scale != 1) result = translator.make_one(node, "mul", {result, constant(scale)});
  if (bias_last) add();
  translator.set(node, {"Out", 0}, result);
}

}  // namespace halfstep::formats::paddle
