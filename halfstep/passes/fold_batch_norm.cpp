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
  if (quant.trait != Trait::weighted || quant.bias < 0 || !is_own_tensor(op.in(quant.weight))) return {};
  if (op.in(quant.bias) && !is_own_tensor(op.in(quant.bias))) return {};
  return std::ranges::all_of(statistics(norm), is_f32_tensor) ? op : Op();
}

Tensor scaled_weight(const Tensor& w, const Affine& norm, int axis) {
  Tensor result(w.dtype(), w.dims());
  const auto src = w.data<float>();
  const auto dst = result.data<float>();
  const size_t channels = norm.factor.size();
  HS_CHECK(w.dims().at(static_cast<size_t>(axis)) == static_cast<int64_t>(channels));
  const std::span after(w.dims().begin() + axis + 1, w.dims().end());
  const auto run = static_cast<size_t>(count_elements(after));
  for (size_t i = 0; i < src.size(); ++i) dst[i] = static_cast<float>(src[i] * norm.factor[i / run % channels]);
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
