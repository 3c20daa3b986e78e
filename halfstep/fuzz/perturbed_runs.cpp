#include "halfstep/fuzz/perturbed_runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/fuzz/network_trial.h"
#include "halfstep/fuzz/stepwise.h"

namespace halfstep::fuzz {
namespace {

constexpr double kRelative = 16;

bool has_regions(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](Op op) { return !op.regions().empty(); });
}

/// Whether a sum of products may consist of rounding errors alone, like the determinant of dependent rows.
bool shows_rounding(const Graph& graph) {
  return std::ranges::any_of(graph.ops(), [](Op op) { return op.is<ops::Determinant>(); });
}

/// The operand of a one-argument function, for each element of its result. Undefined for other operators.
Tensor number_in(Value value, const Tensor& result, std::span<const Tensor> operands) {
  const Op op = value.producer();
  const bool is_function = op && op.info().elementwise && operands.size() == 1;
  return is_function && operands[0].type() == result.type() ? operands[0] : Tensor();
}

/// Absolute change of an f32 result by rounding, whatever its size. For the logarithm of a softmax it is the step of 1,
/// because its sum may be 1 plus small terms. It is the smallest number where rounding decides whether a result becomes
/// 0: for a product (order of factors) and a softmax (one or two roundings of a subnormal number). 0 if an operand
/// makes the result exactly 0.
double least_of(Value value, std::span<const Tensor> operands) {
  const Op op = value.producer();
  if (!op || value.dtype() != DType::f32) return 0;
  if (op.is<ops::LogSoftmax>()) return step_of(DType::f32);
  if (!op.is<ops::ReduceProd, ops::Softmax>()) return 0;
  const float exact = op.is<ops::Softmax>() ? -std::numeric_limits<float>::infinity() : 0.0F;
  const auto numbers = operands[0].data<float>();
  const bool is_exact = std::ranges::find(numbers, exact) != numbers.end();
  return is_exact ? 0 : std::numeric_limits<float>::denorm_min();
}

/// Multiplies each number by 1 plus at most 16 steps, and adds at most 16 times `least`.
Tensor perturbed(const Tensor& tensor, const Tensor& from, double least, Random& random) {
  if (!is_float(tensor.dtype())) return tensor;
  Tensor result = tensor.clone();
  for (int64_t i = 0; i < result.size(); ++i) {
    const double value = element(result, i);
    if (!std::isfinite(value)) continue;
    const double inside = from.defined() ? std::abs(element(from, i)) : 0;
    const double most = step_of(tensor.dtype()) * (kRelative * std::abs(value) + (std::isfinite(inside) ? inside : 0)) +
                        kRelative * least;
    set_element(result, i, value + most * (2 * static_cast<double>(random.uniform()) - 1));
  }
  return result;
}

}  // namespace

Perturbed perturbed_runs(const Model& model, const Tensors& inputs, ThreadPool& pool) {
  return [&model, inputs, &pool](uint64_t change) {
    Random random(change, 300);
    if (!has_regions(model.graph))
      return run_stepwise(model, inputs, [&](Value value, const Tensor& tensor, std::span<const Tensor> operands) {
        return change == 0 ? tensor
                           : perturbed(tensor, number_in(value, tensor, operands), least_of(value, operands), random);
      });
    if (shows_rounding(model.graph)) throw Skipped{"a determinant shows roundings that branches keep from changes"};
    Model changed = model;
    Tensors fed = inputs;
    for (Tensors* tensors : {&changed.tensors, &fed}) {
      for (auto& [name, tensor] : *tensors) tensor = change == 0 ? tensor : perturbed(tensor, {}, 0, random);
    }
    return run_model(changed, fed, pool, {.reference = true});
  };
}

}  // namespace halfstep::fuzz
