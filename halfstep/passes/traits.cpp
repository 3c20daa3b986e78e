#include "halfstep/passes/traits.h"

#include <algorithm>

#include "halfstep/ir/ops.h"

namespace halfstep::passes {

bool has_trait(Op op, std::string_view trait) { return op && op.info().quant.trait == trait; }

bool decides_codes(Op op) {
  // The records' names say so, foreign ones too: fake_quantize_abs_max, qlinear_conv, integer_add, fake_quant.
  const std::string& name = op.info().name;
  return name.find("quant") != std::string::npos || name.find("qlinear") != std::string::npos ||
         name.find("integer") != std::string::npos;
}

bool computes_on_codes(const Graph& graph) {
  const std::vector<Op> ops = graph.ops();
  return std::ranges::any_of(ops, [](Op op) { return op.is<ops::Quantize>(); });
}

bool accumulates(Op op) { return has_trait(op, "weighted") || has_trait(op, "accumulates"); }

bool moves_codes(Op op) { return has_trait(op, "preserves_range") || has_trait(op, "same_scale"); }

std::vector<Value> feature_inputs(Op op) {
  const QuantInfo& quant = op.info().quant;
  std::vector<Value> inputs;
  const auto operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    const int port = op.port_of(static_cast<int>(i));
    if (operands[i] && port != quant.weight && port != quant.bias && port != quant.fill) inputs.push_back(operands[i]);
  }
  return inputs;
}

Value unmoved(Value value) {
  while (moves_codes(value.producer())) value = value.producer().operands().front();
  return value;
}

}  // namespace halfstep::passes
