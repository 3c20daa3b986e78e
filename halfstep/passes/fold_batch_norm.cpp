#include "halfstep/passes/fold_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "halfstep/ir/ops.h"
#include "halfstep/passes/tensors.h"

namespace halfstep::passes {
namespace {

/// norm(y) = y * factor + offset, by channel.
struct Affine {
  std::vector<double> factor, offset;
};

Affine affine(const Model& model, ops::BatchNorm norm) {
  const auto contents = [&](Value tensor) { return model.tensors.at(tensor.name()).data<float>(); };
  const auto scale = contents(norm.scale()), bias = contents(norm.bias());
  const auto mean = contents(norm.mean()), variance = contents(norm.variance());
  Affine result;
  for (size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + norm.epsilon());
    result.factor.push_back(factor);
    result.offset.push_back(bias[c] - mean[c] * factor);
  }
  return result;
}

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

/// Along `axis` lie the output channels of a group; of a transposed convolution the groups lie behind one another along
/// the axis before.
Tensor scaled_weight(const Tensor& w, const Affine& norm, int axis) {
  Tensor result = Tensor::uninitialized(w.dtype(), w.dims());
  const auto src = w.data<float>();
  const auto dst = result.data<float>();
  const std::span dims(w.dims());
  const auto rows = static_cast<size_t>(count_elements(dims.first(static_cast<size_t>(axis))));
  const auto run = static_cast<size_t>(count_elements(dims.subspan(static_cast<size_t>(axis) + 1)));
  const auto columns = static_cast<size_t>(dims[static_cast<size_t>(axis)]);
  const size_t groups = norm.factor.size() / columns;
  HS_CHECK(groups * columns == norm.factor.size() && rows % groups == 0);
  for (size_t row = 0; row < rows; ++row) {
    const double* factors = norm.factor.data() + row / (rows / groups) * columns;
    for (size_t column = 0; column < columns; ++column) {
      const double factor = factors[column];
      const size_t begin = (row * columns + column) * run;
      for (size_t i = begin; i < begin + run; ++i) dst[i] = static_cast<float>(src[i] * factor);
    }
  }
  return result;
}

/// `b` undefined counts as zeros.
Tensor moved_bias(const Tensor& b, const Affine& norm) {
  Tensor result(DType::f32, {static_cast<int64_t>(norm.factor.size())});
  const auto dst = result.data<float>();
  for (size_t c = 0; c < dst.size(); ++c) {
    const double before = b.defined() ? b.data<float>()[c] : 0.0;
    dst[c] = static_cast<float>(before * norm.factor[c] + norm.offset[c]);
  }
  return result;
}

void fold(Model& model, ops::BatchNorm norm, Op op) {
  const QuantInfo& quant = op.info().quant;
  const Affine by_channel = affine(model, norm);
  Tensor& w = model.tensors.at(op.in(quant.weight).name());
  w = scaled_weight(w, by_channel, quant.weight_axis);
  if (const Value bias = op.in(quant.bias)) {
    Tensor& b = model.tensors.at(bias.name());
    b = moved_bias(b, by_channel);
  } else {
    const Role role = op.in(quant.weight).role();
    op.set_operand(quant.bias, add_tensor(model, op.name() + ".b", moved_bias({}, by_channel), role));
    op.infer();
  }
  norm.out().replace_all_uses_with(norm.x());
}

}  // namespace

void fold_batch_norm(Model& model) {
  for (ops::BatchNorm norm : model.graph.all<ops::BatchNorm>()) {
    const Op op = foldable_producer(norm);
    if (!op) continue;
    fold(model, norm, op);
    const std::vector<Value> unread = statistics(norm);
    model.graph.erase(norm);
    for (const Value tensor : unread) {
      if (tensor.unused() && model.graph.tensor(tensor.name()) == tensor) erase_tensor(model, tensor);
    }
  }
}

}  // namespace halfstep::passes
