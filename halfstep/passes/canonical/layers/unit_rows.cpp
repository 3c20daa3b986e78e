#include "halfstep/passes/canonical/layers/unit_rows.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/rewrite.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

/// The stored number of at most 1e-6 from which the operator limits a value from below. Nothing for other operators.
std::optional<double> least_of(const Model& model, Op op) {
  constexpr double kSmall = 1e-6;
  if (!op.is<ops::Clip>()) return std::nullopt;
  const Value lowest = ops::Clip(op.node()).lowest();
  if (!lowest || !lowest.is_tensor() || ops::Clip(op.node()).highest()) return std::nullopt;
  const double number = element(model.tensors.at(lowest.name()), 0);
  return number <= kSmall ? std::optional(number) : std::nullopt;
}

struct Length {
  Op op;             ///< computes the length, or null
  double least = 0;  ///< keeps it from 0
};

/// The length that the value is, before a repetition along axes and a limit from below.
Length length_behind(const Model& model, Value value) {
  if (value.producer().is<ops::Expand>()) value = value.producer().in(0);
  const auto least = least_of(model, value.producer());
  if (!least) return {value.producer()};
  return {value.producer().in(0).producer(), std::max(*least, 0.0)};
}

/// Whether `op` is the length of the rows of `x` along the last axis.
bool measures_rows(Op op, Value x) {
  if (!op.is<ops::ReduceL2>() || op.in(0) != x || x.is_tensor() || x.dims().empty() || x.dims().back() < 1)
    return false;
  const ops::ReduceL2 length(op.node());
  const std::vector<int64_t>& axes = length.axes();
  return length.keep_dims() && axes.size() == 1 && (axes[0] == -1 || axes[0] + 1 == std::ssize(x.dims()));
}

void rewrite_rows(Model& model, const ops::Div& div, double least) {
  const int64_t count = div.a().dims().back();
  Tensor ones(DType::f32, {count});
  std::ranges::fill(ones.data<float>(), 1.0F);
  const Tensor factor = Tensor::scalar(static_cast<float>(1 / std::sqrt(static_cast<double>(count))));
  const Value scale = add_tensor(model, div.name() + ".ones", ones, Role::constant);
  const Value unit = add_tensor(model, div.name() + ".unit", factor, Role::constant);
  const Op rows = insert_before(model.graph, div, ops::RmsNorm::record(), {div.a(), scale},
                                {{"epsilon", least * least / static_cast<double>(count)}});
  replace(model.graph, div, insert_before(model.graph, div, ops::Mul::record(), {rows.out(0), unit}));
}

}  // namespace

void unit_rows(Model& model) {
  bool has_any = false;
  for (const ops::Div& div : model.graph.all<ops::Div>()) {
    const Length length = length_behind(model, div.b());
    if (div.out().dtype() != DType::f32 || !measures_rows(length.op, div.a())) continue;
    rewrite_rows(model, div, length.least);
    has_any = true;
  }
  if (has_any) dce(model);
}

}  // namespace halfstep::passes
