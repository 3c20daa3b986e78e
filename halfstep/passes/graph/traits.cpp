#include "halfstep/passes/graph/traits.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

bool has_trait(Op op, Trait trait) { return op && op.info().quant.trait == trait; }

bool computes_on_codes(const Graph& graph) {
  const std::vector<Op> ops = graph.all_ops();
  return std::ranges::any_of(ops, [](Op op) { return op.is<ops::Quantize, ops::Dequantize>(); });
}

bool accumulates(Op op) { return has_trait(op, Trait::weighted) || has_trait(op, Trait::accumulates); }

bool computes_codes(Op op) { return accumulates(op) || has_trait(op, Trait::normalizes) || op.info().quant.lookup; }

bool is_number_port(const QuantInfo& quant, int port) {
  return port >= 0 && (port == quant.bias || port == quant.factor || port == quant.index);
}

bool moves_codes(Op op) { return has_trait(op, Trait::preserves_range) || has_trait(op, Trait::same_scale); }

bool ranks_codes(Op op) { return has_trait(op, Trait::ranks); }

std::vector<Value> activation_inputs(Op op) {
  const QuantInfo& quant = op.info().quant;
  std::vector<Value> inputs;
  const auto operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    const int port = op.port_of(static_cast<int>(i));
    if (operands[i] && port != quant.weight && port != quant.fill && !is_number_port(quant, port))
      inputs.push_back(operands[i]);
  }
  return inputs;
}

Value unmoved(Value value) {
  while (value.port() == 0 && moves_codes(value.producer())) value = value.producer().operands().front();
  return value;
}

}  // namespace halfstep::passes
