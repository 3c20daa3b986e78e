// Numbers from start on in steps, before end, which may depend on dynamic extents.
#include "halfstep/formats/builder/dynamic_dims.h"
#include "halfstep/formats/builder/number_steps.h"
#include "halfstep/formats/paddle/translator.h"

namespace halfstep::formats::paddle {

void translate_arange(Translator& translator, const Node& node) {
  const RangeOperands operands = {translator.require(node, {"Start", 0}), translator.require(node, {"End", 1}),
                                  translator.require(node, {"Step", 2})};
  // The result type is an attribute in PIR.
  const bool has_type = node.attribute("dtype") != nullptr;
  const DType dtype = has_type ? dtype_of(node, "dtype") : operands.limit.type().dtype;
  if (const auto open = open_range(translator, node, operands, dtype)) return translator.set(node, {"Out", 0}, *open);
  const auto number = [&](const Operand& operand) {
    Tensor tensor = translator.contents(operand);
    return has_type && tensor.size() == 1 ? filled(dtype, tensor.dims(), element(tensor, 0)) : tensor;
  };
  const Tensor start = number(operands.start), limit = number(operands.limit), step = number(operands.step);
  translator.set(node, {"Out", 0}, Translator::known(range(node, start, limit, step)));
}

}  // namespace halfstep::formats::paddle
