#include "halfstep/passes/graph/open_sums.h"

#include <fmt/format.h>

#include <string>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

void open(Model& model, Op sum) {
  const std::vector<Value> values = sum.operands();
  const std::string& name = sum.name();
  Builder builder = Builder::before(model.graph, sum);
  builder.at(sum.location());
  Value total = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    // the name that a search for a free name would find, which would take quadratic time
    const std::string number = i == 1 ? "" : fmt::format(".{}", i);
    total = ops::add(builder, {.a = total, .b = values[i], .name = name + ".sum" + number}).out();
  }
  if (sum.is<ops::MeanOf>()) {
    Tensor count = Tensor::scalar(static_cast<float>(values.size()));
    const Value number = add_tensor(model, name + ".count", count.reshaped({}), Role::constant);
    total = ops::div(builder, {.a = total, .b = number, .name = name + ".mean"}).out();
  }
  replace(model.graph, sum, total.producer());
}

}  // namespace

void open_sums(Model& model) {
  for (const Op op : model.graph.ops()) {
    if (op.is<ops::SumOf, ops::MeanOf>() && op.operands().size() > 1 && op.out(0).dtype() == DType::f32)
      open(model, op);
  }
}

}  // namespace halfstep::passes
