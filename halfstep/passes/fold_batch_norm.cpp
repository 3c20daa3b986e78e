#include "halfstep/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "halfstep/ir/ops.h"
#include "halfstep/passes/tensors.h"

namespace halfstep::passes {
namespace {

std::vector<Value> statistics(ops::BatchNorm norm) { return {norm.scale(), norm.bias(), norm.mean(), norm.variance()}; }

bool is_f32_tensor(Value value) { return value.is_tensor() && value.dtype() == DType::f32; }
bool is_own_tensor(Value value) { return is_f32_tensor(value) && value.has_one_use(); }

/// The operation that can take the normalization in; a null Op when there is none.
Op foldable_producer(ops::BatchNorm norm) {
  const Op op = norm.x().producer();
  if (!norm.is_test() || !op || !norm.x().has_one_use()) return {};
  const QuantInfo& quant = op.info().quant;
  const bool is_layer = quant.trait == Trait::weighted || quant.trait == Trait::weighted_in_float;
  if (!is_layer || quant.bias < 0 || !is_own_tensor(op.in(quant.weight))) return {};
  if (op.in(quant.bias) && !is_own_tensor(op.in(quant.bias))) return {};
  return std::ranges::all_of(statistics(norm), is_f32_tensor) ? op : Op();
}

FoldedNorm fold(Model& model, ops::BatchNorm norm, Op op) {
  const QuantInfo& quant = op.info().quant;
  const auto named = [&](Value tensor) { return std::pair(tensor.name(), model.tensors.at(tensor.name())); };
  FoldedNorm folded{.layer = op.name(),
                    .weight = op.in(quant.weight).name(),
                    .raw_weight = model.tensors.at(op.in(quant.weight).name()),
                    .scale = named(norm.scale()),
                    .shift = named(norm.bias()),
                    .mean = named(norm.mean()),
                    .variance = named(norm.variance()),
                    .epsilon = norm.epsilon(),
                    .momentum = norm.momentum()};
  const NormFactors factors = norm_factors(folded.scale.second, folded.shift.second, folded.mean.second,
                                           folded.variance.second, folded.epsilon);
  model.tensors.at(folded.weight) = folded_weight(folded.raw_weight, factors, quant.weight_axis);
  if (const Value bias = op.in(quant.bias)) {
    folded.raw_bias = model.tensors.at(bias.name());
    model.tensors.at(bias.name()) = folded_bias(folded.raw_bias, factors);
  } else {
    const Role role = op.in(quant.weight).role();
    op.set_operand(quant.bias, add_tensor(model, op.name() + ".b", folded_bias({}, factors), role));
    op.infer();
  }
  folded.bias = op.in(quant.bias).name();
  norm.out().replace_all_uses_with(norm.x());
  return folded;
}

}  // namespace

NormFactors norm_factors(const Tensor& scale, const Tensor& shift, const Tensor& mean, const Tensor& variance,
                         double epsilon) {
  const auto scales = scale.data<float>(), shifts = shift.data<float>();
  const auto means = mean.data<float>(), variances = variance.data<float>();
  NormFactors result;
  for (size_t c = 0; c < scales.size(); ++c) {
    const double factor = scales[c] / std::sqrt(variances[c] + epsilon);
    result.factor.push_back(factor);
    result.offset.push_back(shifts[c] - means[c] * factor);
  }
  return result;
}

ChannelLayout::ChannelLayout(const Dims& dims, int axis, int64_t channels) {
  const std::span all(dims);
  columns = all[static_cast<size_t>(axis)];
  groups = channels / columns;
  rows = count_elements(all.first(static_cast<size_t>(axis))) / groups;
  run = count_elements(all.subspan(static_cast<size_t>(axis) + 1));
  HS_CHECK(groups * columns == channels && groups * rows * columns * run == count_elements(dims));
}

Tensor folded_weight(const Tensor& w, const NormFactors& norm, int axis) {
  Tensor result = Tensor::uninitialized(w.dtype(), w.dims());
  const ChannelLayout layout(w.dims(), axis, static_cast<int64_t>(norm.factor.size()));
  const float* src = w.data<float>().data();
  float* dst = result.data<float>().data();
  for (int64_t group = 0; group < layout.groups; ++group) {
    for (int64_t row = 0; row < layout.rows; ++row) {
      for (int64_t column = 0; column < layout.columns; ++column, src += layout.run, dst += layout.run) {
        const double factor = norm.factor[static_cast<size_t>(group * layout.columns + column)];
        for (int64_t i = 0; i < layout.run; ++i) dst[i] = static_cast<float>(src[i] * factor);
      }
    }
  }
  return result;
}

Tensor folded_bias(const Tensor& b, const NormFactors& norm) {
  Tensor result(DType::f32, {static_cast<int64_t>(norm.factor.size())});
  const auto dst = result.data<float>();
  for (size_t c = 0; c < dst.size(); ++c) {
    const double before = b.defined() ? b.data<float>()[c] : 0.0;
    dst[c] = static_cast<float>(before * norm.factor[c] + norm.offset[c]);
  }
  return result;
}

std::vector<FoldedNorm> fold_batch_norm(Model& model) {
  std::vector<FoldedNorm> folded;
  for (ops::BatchNorm norm : model.graph.all<ops::BatchNorm>()) {
    const Op op = foldable_producer(norm);
    if (!op) continue;
    folded.push_back(fold(model, norm, op));
    const std::vector<Value> unread = statistics(norm);
    model.graph.erase(norm);
    for (const Value tensor : unread) {
      if (tensor.unused() && model.graph.tensor(tensor.name()) == tensor) erase_tensor(model, tensor);
    }
  }
  return folded;
}

}  // namespace halfstep::passes
