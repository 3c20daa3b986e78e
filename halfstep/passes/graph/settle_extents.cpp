#include "halfstep/passes/graph/settle_extents.h"

#include <algorithm>

#include "halfstep/core/arith/accumulator.h"
#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/arith/row_norm.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/errors.h"
#include "halfstep/passes/graph/resampling.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

/// Sets the multiplier of an average on codes, unless it is known.
template <class Average>
void settle(const Average& op) {
  if (op.shift() != 0) return;
  const AverageWeights weights = *average_weights(op);
  const auto [lowest, highest] = whole_range(op.x().dtype());
  const int64_t farthest =
      arith::farthest_step(static_cast<int64_t>(lowest), static_cast<int64_t>(highest), op.x_zero_point());
  if (weights.magnitudes > arith::kMostScaled / farthest)
    fail(errors::average_too_large(op.where(), weights.magnitudes, arith::kMostScaled / farthest));
  const arith::RequantizeRule rule{.form = *arith::parse_requantization(op.requantize()),
                                   .multiplier_bits = static_cast<int>(op.multiplier_bits()),
                                   .average_bits = static_cast<int>(op.average_bits())};
  arith::Requantizer made;
  const Status status = rule.for_pool(static_cast<float>(op.x_scale()), static_cast<float>(op.y_scale()),
                                      std::max<int64_t>(1, weights.sum), made);
  if (!status.ok()) fail(errors::average_not_requantizable(op.where(), weights.sum, status.message()));
  const arith::Multiplier factor = std::get<arith::FixedScale>(made).positive;
  op.set_attributes({{"multiplier", int64_t{factor.m}}, {"shift", int64_t{factor.shift}}});
}

/// Repeats an operand of one number for each element of a row. An operator may lack the port.
void repeat(Model& model, Op op, const char* port, int64_t elements) {
  const int operand = op.info().input(port);
  const Value one = operand < 0 ? Value() : op.in(operand);
  if (!one || one.dims() == Dims{elements} || count_elements(one.dims()) != 1) return;
  const Op expanded = model.graph.insert(
      {&ops::Expand::record(), {one}, {{"dims", Dims{elements}}}, one.name() + ".row", op.location()}, nullptr, op);
  op.set_operand(operand, expanded.out(0));
}

void settle_norm(Model& model, const ops::IntegerNorm& norm) {
  if (norm.row_epsilon() < 0) return;
  const int64_t elements = norm.x().dims().back();
  arith::RowNorm row;
  const int bits = static_cast<int>(8 * size_of(norm.x().dtype()));
  const Status status = arith::derive_epsilon(norm.row_epsilon(), std::max<int64_t>(1, elements), bits, row);
  if (!status.ok()) fail(placed(status.diagnostic(), norm.name(), norm.where()));
  for (const char* port : {"factor", "bias"}) {
    const int operand = norm.info().input(port);
    const Value one = norm.in(operand);
    const Tensor number = model.tensors.at(one.name());
    Tensor all(number.dtype(), {elements});
    for (int64_t i = 0; i < elements; ++i) set_element(all, i, element(number, 0));
    norm.set_operand(operand, add_tensor(model, one.name() + ".row", std::move(all), one.role()));
  }
  norm.set_attributes({{"epsilon", row.epsilon}, {"guard", int64_t{row.guard}}, {"row_epsilon", -1.0}});
}

}  // namespace

void settle_extents(Model& model) {
  for (const Op op : model.graph.all_ops()) {
    if (!op.in(0) || !op.in(0).type().is_static()) continue;  // a region that is compiled when its extents are known
    if (op.is<ops::IntegerReduceMean>()) settle(ops::IntegerReduceMean(op.node()));
    if (op.is<ops::IntegerResize>()) settle(ops::IntegerResize(op.node()));
    if (op.is<ops::IntegerNorm>()) settle_norm(model, ops::IntegerNorm(op.node()));
    if (op.is<ops::QuantizedLayerNorm, ops::QuantizedRmsNorm>()) {
      for (const char* port : {"scale", "bias"}) repeat(model, op, port, op.in(0).dims().back());
    }
  }
}

}  // namespace halfstep::passes
