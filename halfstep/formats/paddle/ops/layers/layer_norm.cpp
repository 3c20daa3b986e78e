// Normalizes over the axes from begin_norm_axis on, with scale and bias as flat lists.
#include <fmt/format.h>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_layer_norm(Translator& translator, const Node& node) {
  const Operand x = translator.require(node, {"X", 0});
  const Dims dims = x.dims();
  const int64_t axis = node.integer("begin_norm_axis", 1);
  if (axis < 1 || axis >= static_cast<int64_t>(dims.size()))
    fail(errors::axis_out_of_range(node.where(), fmt::format("{} as begin_norm_axis", axis), to_string(dims)));
  const Dims normal(dims.begin() + axis, dims.end());
  const auto shaped = [&](const Port& port) {
    const Operand operand = translator.in(node, port);
    return operand.there() && normal.size() > 1 ? translator.reshaped(node, operand, normal) : operand;
  };
  Operand scale = shaped({"Scale", 1});
  if (!scale.there()) {
    if (!Type{DType::f32, normal}.is_static()) fail(errors::depends_on_extents("a layer_norm without a scale"));
    scale = Translator::known(filled(x.type().dtype, normal, 1));
  }
  const Attributes attributes = {{"axis", axis}, {"epsilon", node.real("epsilon", 1e-5)}};
  translator.set(node, {"Y", 0}, translator.make_one(node, "layer_norm", {x, scale, shaped({"Bias", 2})}, attributes));
}

}  // namespace halfstep::formats::paddle
