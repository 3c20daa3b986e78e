#include "halfstep/passes/canonical/layers/prelu_forms.h"

#include <limits>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

void rewrite(Model& model, const ops::Prelu& prelu) {
  const Value x = prelu.x(), slope = prelu.slope();
  if (x.is_tensor() || x.dtype() != DType::f32 || !is_stored_f32(slope)) return;
  Graph& graph = model.graph;
  const auto insert = [&](const OpInfo& info, std::vector<Value> operands, Attributes attributes = {}) {
    return insert_before(graph, prelu, info, std::move(operands), std::move(attributes));
  };
  if (count_elements(slope.dims()) == 1) {
    const double alpha = std::as_const(model.tensors.at(slope.name())).data<float>()[0];
    replace(graph, prelu, insert(ops::LeakyRelu::record(), {x}, {{"alpha", alpha}}));
    if (slope.unused()) erase_tensor(model, slope);
    return;
  }
  const Op positive = insert(ops::Relu::record(), {x});
  const Op negative =
      insert(ops::HardTanh::record(), {x}, {{"alpha", double{std::numeric_limits<float>::lowest()}}, {"beta", 0.0}});
  const Op scaled = insert(ops::Mul::record(), {negative.out(0), slope});
  replace(graph, prelu, insert(ops::Add::record(), {positive.out(0), scaled.out(0)}));
}

}  // namespace

void prelu_forms(Model& model) {
  for (const ops::Prelu& prelu : model.graph.all<ops::Prelu>()) rewrite(model, prelu);
}

}  // namespace halfstep::passes
