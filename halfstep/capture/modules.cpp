#include "halfstep/capture/modules.h"

#include <cmath>

#include "halfstep/base/status.h"
#include "halfstep/capture/apply.h"
#include "halfstep/capture/random.h"
#include "halfstep/capture/step.h"
#include "halfstep/ir/ops.h"

namespace halfstep::capture {
namespace {

Array within(const Dims& dims, int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return uniform(dims, -bound, bound);
}

}  // namespace

Array Module::parameter(const std::string& name, Array initial) {
  initial.require_gradient();
  return buffer(name, std::move(initial));
}

Array Module::buffer(const std::string& name, Array initial) {
  arrays_.emplace_back(name, initial);
  return initial;
}

void Module::add_part(std::string name, std::shared_ptr<Module> part) {
  parts_.emplace_back(std::move(name), std::move(part));
}

std::vector<std::pair<std::string, Array>> Module::named_arrays() const {
  std::vector<std::pair<std::string, Array>> found = arrays_;
  for (const auto& [part_name, part] : parts_) {
    for (auto& [name, array] : part->named_arrays()) found.emplace_back(part_name + "." + name, std::move(array));
  }
  return found;
}

Arrays Module::parameters() const {
  Arrays found;
  for (auto& [name, array] : named_arrays()) {
    if (array.requires_gradient()) found.push_back(std::move(array));
  }
  return found;
}

Linear::Linear(int64_t in, int64_t out)
    : weight(parameter("weight", within({out, in}, in))), bias(parameter("bias", within({out}, in))) {}

Array Linear::operator()(const Array& x) { return apply("linear", {x, weight, bias}); }

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, int64_t stride, int64_t pad)
    : weight(parameter("weight", within({out, in, kernel, kernel}, in * kernel * kernel))),
      bias(parameter("bias", within({out}, in * kernel * kernel))),
      stride_(stride),
      pad_(pad) {}

Array Conv2d::operator()(const Array& x) {
  return apply("conv2d", {x, weight, bias},
               {{"stride", std::vector{stride_, stride_}}, {"pad", std::vector{pad_, pad_, pad_, pad_}}});
}

BatchNorm2d::BatchNorm2d(int64_t channels)
    : weight(parameter("weight", full({DType::f32, {channels}}, 1))),
      bias(parameter("bias", full({DType::f32, {channels}}, 0))),
      mean(buffer("mean", full({DType::f32, {channels}}, 0))),
      variance(buffer("variance", full({DType::f32, {channels}}, 1))) {}

Array BatchNorm2d::operator()(const Array& x) {
  const Array operands[] = {x, weight, bias, mean, variance};
  const OpInfo& info = ops::BatchNorm::record();
  const Arrays results = apply(info, {{"is_test", !switches().training}}, operands);
  if (switches().training) {
    const Switched without(without_gradients());
    mean.assign(results[static_cast<size_t>(info.output("mean_out"))]);
    variance.assign(results[static_cast<size_t>(info.output("variance_out"))]);
  }
  return results[0];
}

Sequential::Sequential(std::vector<std::shared_ptr<Module>> parts) {
  for (auto& part : parts) {
    std::string name = std::to_string(this->parts().size());
    add_part(std::move(name), std::move(part));
  }
}

Array Sequential::operator()(const Array& x) {
  Array now = x;
  for (const auto& [name, part] : parts()) now = (*part)(now);
  return now;
}

Sgd::Sgd(Arrays parameters, double learning_rate, double momentum, double weight_decay)
    : parameters_(std::move(parameters)),
      learning_rate_(full({DType::f32, {1}}, learning_rate)),
      momentum_(momentum),
      weight_decay_(weight_decay) {
  for (const Array& parameter : parameters_) velocities_.push_back(full(parameter.type(), 0, parameter.place()));
}

void Sgd::step() {
  const Switched without(without_gradients());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Array gradient = parameters_[i].gradient();
    if (!gradient) continue;
    const Array operands[] = {parameters_[i], gradient, velocities_[i], learning_rate_};
    const Arrays next =
        apply(ops::SgdMomentum::record(), {{"momentum", momentum_}, {"weight_decay", weight_decay_}}, operands);
    parameters_[i].assign(next[0]);
    velocities_[i].assign(next[1]);
  }
}

void Sgd::zero_gradients() {
  for (Array& parameter : parameters_) parameter.set_gradient({});
}

Array cross_entropy(const Array& logits, const Array& labels) {
  return apply("softmax_cross_entropy_loss", {logits, labels});
}

}  // namespace halfstep::capture
