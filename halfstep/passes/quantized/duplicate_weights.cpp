#include "halfstep/passes/quantized/duplicate_weights.h"

#include <set>

#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {

void duplicate_weights(Model& model) {
  std::set<std::string> taken;
  for (const Op op : model.graph.ops()) {
    for (const int port : {op.info().quant.weight, op.info().quant.bias}) {
      const Value tensor = port < 0 ? Value() : op.in(port);
      if (!tensor || !tensor.is_tensor() || taken.insert(tensor.name()).second) continue;
      op.set_operand(port, add_tensor(model, tensor.name(), model.tensors.at(tensor.name()).clone(), tensor.role()));
    }
  }
}

}  // namespace halfstep::passes
