#include "halfstep/passes/optimize/code_tables.h"

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

bool is_constant_tensor(Value value) { return value.is_tensor() && value.role() == Role::constant; }

/// Whether one scale and one zero point hold for all codes, whatever runs before.
bool has_constant_numbers(Op op) {
  return get<int64_t>(op.attributes(), "axis") == -1 && is_constant_tensor(op.in(1)) && is_constant_tensor(op.in(2));
}

Tensor every_code(DType dtype) {
  constexpr int64_t kCodes = 256;
  Tensor codes(dtype, {kCodes});
  const double lowest = whole_range(dtype).first;
  for (int64_t i = 0; i < kCodes; ++i) set_element(codes, i, lowest + static_cast<double>(i));
  return codes;
}

void look_up(Model& model, const ops::Dequantize& dequantize, const ops::Quantize& quantize) {
  const auto insert = [&](const OpInfo& info, const std::vector<Value>& operands, const Attributes& attributes) {
    return insert_before(model.graph, quantize, info, operands, attributes);
  };
  const Value codes = dequantize.x();
  const Value every = add_tensor(model, quantize.name() + ".every", every_code(codes.dtype()), Role::constant);
  const Value values =
      insert(dequantize.info(), {every, dequantize.scale(), dequantize.zero_point()}, dequantize.attributes()).out(0);
  const Value table =
      insert(quantize.info(), {values, quantize.scale(), quantize.zero_point()}, quantize.attributes()).out(0);
  replace(model.graph, quantize,
          insert(ops::IntegerLookup::record(), {codes, table},
                 {{"x_code_min", static_cast<int64_t>(whole_range(codes.dtype()).first)},
                  {"code_type", std::string(name(table.dtype()))}}));
}

}  // namespace

void code_tables(Model& model) {
  for (const auto& quantize : model.graph.body().all<ops::Quantize>()) {
    const auto dequantize = quantize.x().producer<ops::Dequantize>();
    if (!dequantize || !has_constant_numbers(quantize) || !has_constant_numbers(*dequantize)) continue;
    if (!dequantize->x().is_tensor() && size_of(dequantize->x().dtype()) == 1 && size_of(quantize.out().dtype()) <= 2)
      look_up(model, *dequantize, quantize);
  }
}

}  // namespace halfstep::passes
