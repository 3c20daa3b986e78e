#include "halfstep/train/loop/oscillation.h"

#include <algorithm>
#include <cmath>

#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/loop/errors.h"

namespace halfstep::train {
namespace {

constexpr float kDecay = 0.99F;

/// Shape of a weight around its channel axis: [outer][channels][inner].
struct Channels {
  size_t count = 1, inner = 1;
  size_t of(size_t element) const { return element / inner % count; }
};

Channels channels_of(const ops::FakeQuantize& quantizer, size_t scales) {
  Channels channels;
  if (scales == 1) return channels;
  const Dims& dims = quantizer.x().dims();
  const auto axis = static_cast<size_t>(quantizer.axis());
  channels.count = scales;
  for (size_t i = axis + 1; i < dims.size(); ++i) channels.inner *= static_cast<size_t>(dims[i]);
  return channels;
}

}  // namespace

Oscillations::Oscillations(const Model& prepared, double most) : model_(clone(prepared)), most_(most) {
  if (!quant::is_prepared(prepared)) fail(errors::oscillation_of_float_network(prepared.graph.name()));
  for (const auto& quantizer : model_.graph.all<ops::FakeQuantize>()) {
    const Value w = quantizer.x();
    const bool is_known = std::ranges::any_of(weights_, [&](const Weight& known) { return known.name == w.name(); });
    if (!quant::is_weight(quantizer) || w.role() != Role::parameter || is_known) continue;
    const auto zeros = [&] { return Tensor(DType::f32, w.dims()); };
    weights_.push_back({w.name(), quantizer, zeros(), zeros(), zeros(), zeros(), zeros()});
  }
}

Oscillations::Steps Oscillations::steps_of(const Weight& weight, const runtime::Program& program) {
  const std::string scale = passes::scale_tensor(weight.quantizer).name(), zero = weight.quantizer.zero_point().name();
  for (const std::string& name : {scale, zero}) {
    if (live_.contains(name)) model_.tensors.insert_or_assign(name, program.tensor(name));
  }
  const auto zero_points = model_.tensors.at(zero).data<int32_t>();
  Steps steps;
  for (size_t c = 0; c < static_cast<size_t>(model_.tensors.at(scale).size()); ++c) {
    const int64_t zero_point = zero_points[zero_points.size() == 1 ? 0 : c];
    steps.scale.push_back(quant::effective_scale(model_, weight.quantizer, c));
    steps.low.push_back(static_cast<float>(weight.quantizer.code_min() - zero_point));
    steps.high.push_back(static_cast<float>(weight.quantizer.code_max() - zero_point));
  }
  return steps;
}

void Oscillations::look(Weight& weight, runtime::Program& program) {
  const Steps steps = steps_of(weight, program);
  const Channels channels = channels_of(weight.quantizer, steps.scale.size());
  Tensor now = program.tensor(weight.name);
  const auto w = now.data<float>(), code = weight.code.data<float>(), change = weight.change.data<float>();
  const auto share = weight.share.data<float>(), mean = weight.mean.data<float>(), frozen = weight.frozen.data<float>();
  bool moved = false;
  for (size_t i = 0; i < w.size(); ++i) {
    const size_t c = channels.of(i);
    if (frozen[i] == 0) {
      const float next = std::clamp(std::nearbyint(w[i] / steps.scale[c]), steps.low[c], steps.high[c]);
      const float step = !has_seen_ || next == code[i] ? 0.0F : next > code[i] ? 1.0F : -1.0F;
      share[i] = kDecay * share[i] + (step != 0 && step == -change[i] ? 1 - kDecay : 0.0F);
      mean[i] = has_seen_ ? kDecay * mean[i] + (1 - kDecay) * next : next;
      if (step != 0) change[i] = step;
      code[i] = next;
      if (share[i] <= static_cast<float>(most_)) continue;
      frozen[i] = 1;
      code[i] = std::clamp(std::nearbyint(mean[i]), steps.low[c], steps.high[c]);
    }
    w[i] = code[i] * steps.scale[c];
    moved = true;
  }
  if (moved) program.set_tensor(weight.name, now);
}

void Oscillations::after_step(runtime::Program& program) {
  if (live_.empty()) {
    for (const auto& [name, tensor] : program.tensors()) live_.insert(name);
  }
  for (Weight& weight : weights_) look(weight, program);
  has_seen_ = true;
}

int64_t Oscillations::frozen() const {
  int64_t count = 0;
  for (const Weight& weight : weights_) count += std::ranges::count(weight.frozen.data<float>(), 1.0F);
  return count;
}

void Oscillations::save(std::map<std::string, Tensor>& tensors) const {
  for (const Weight& weight : weights_) {
    const std::string name = weight.name + ".oscillation.";
    for (const auto& [what, tensor] :
         {std::pair("code", weight.code), std::pair("change", weight.change), std::pair("share", weight.share),
          std::pair("mean", weight.mean), std::pair("frozen", weight.frozen)})
      tensors.insert_or_assign(name + what, tensor.clone());
  }
}

void Oscillations::load(const std::map<std::string, Tensor>& tensors) {
  for (Weight& weight : weights_) {
    const std::string name = weight.name + ".oscillation.";
    for (const auto& [what, tensor] :
         {std::pair("code", &weight.code), std::pair("change", &weight.change), std::pair("share", &weight.share),
          std::pair("mean", &weight.mean), std::pair("frozen", &weight.frozen)})
      *tensor = tensors.at(name + what).clone();
    has_seen_ = true;
  }
}

}  // namespace halfstep::train
