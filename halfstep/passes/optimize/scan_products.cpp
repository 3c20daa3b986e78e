#include "halfstep/passes/optimize/scan_products.h"

#include <algorithm>

#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

/// The only reader of a row, if it multiplies the row by tensors. Null otherwise.
Op product_of(Value row) {
  if (!row.has_one_use()) return {};
  const auto [user, operand] = row.uses().front();
  if (!user.is<ops::IntegerLinear>() || operand != 0) return {};
  const std::vector<Value> operands = user.operands();
  const bool is_stored =
      std::all_of(operands.begin() + 1, operands.end(), [](Value one) { return !one || one.is_tensor(); });
  return is_stored ? user : Op();
}

void move_out(Graph& graph, Op scan, Op product, size_t operand) {
  const Value rows = scan.operands()[operand], row = product.in(0), result = product.out(0);
  const auto reshaped = [&](Value x, const Dims& dims) {
    return graph
        .insert({&ops::Reshape::record(), {x}, {{"dims", dims}}, x.name() + ".rows", scan.location()}, nullptr, scan)
        .out(0);
  };
  std::vector<Value> operands = product.operands();
  operands[0] = reshaped(rows, {rows.dims()[0] * rows.dims()[1], rows.dims()[2]});
  const Op all = graph.insert({&product.info(), operands, product.attributes(), product.name(), product.location()},
                              nullptr, scan);
  Dims dims = result.dims();
  dims.insert(dims.begin(), rows.dims()[0]);
  scan.set_operand(static_cast<int>(operand), reshaped(all.out(0), dims));
  graph.set_type(row, result.type());
  result.replace_all_uses_with(row);
  graph.erase(product);
  scan.infer();
}

}  // namespace

void scan_products(Model& model) {
  for (const auto& scan : model.graph.all_ops()) {
    if (scan.info().flow != Flow::scan) continue;
    const FlowParts parts(scan);
    for (size_t i = parts.states; i < parts.states + parts.scanned; ++i) {
      const Op product = product_of(scan.regions()[0]->arguments()[i]);
      const size_t operand = parts.first + i;
      if (product && scan.operands()[operand].type().is_static()) move_out(model.graph, scan, product, operand);
    }
  }
}

}  // namespace halfstep::passes
