#include "halfstep/engine/capture/modules.h"

#include <fmt/ranges.h>

#include <cmath>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/capture/apply.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/layers/functions.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/engine/capture/tracing.h"

namespace halfstep::capture {

Array Module::parameter(const std::string& name, Array initial) {
  initial.require_gradient();
  return buffer(name, std::move(initial));
}

Array Module::buffer(const std::string& name, Array initial) {
  arrays_.emplace_back(name, initial);
  return initial;
}

Array Module::within(const Dims& dims, int64_t fan_in) {
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return uniform(dims, -bound, bound);
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

Tensors Module::state() const {
  Tensors state;
  for (const auto& [name, array] : named_arrays()) state.emplace(name, array.tensor().clone());
  return state;
}

void Module::load_state(const Tensors& state) {
  std::vector<std::pair<std::string, Array>> own = named_arrays();
  std::vector<Diagnostic> wrong;
  const auto differs = [&](const std::string& name, const std::string& found, const std::string& expected) {
    wrong.push_back(errors::state_does_not_fit(fmt::format("load_state: '{}'", name), found, expected));
  };
  Tensors unknown = state;
  for (const auto& [name, array] : own) {
    unknown.erase(name);
    const auto given = state.find(name);
    if (given == state.end()) {
      differs(name, "nothing", to_string(array.type()));
    } else if (given->second.type() != array.type()) {
      differs(name, to_string(given->second.type()), to_string(array.type()));
    }
  }
  for (const auto& [name, tensor] : unknown)
    differs(name, to_string(tensor.type()), "the name of an array of the module");
  fail_on_any(std::move(wrong));
  const Switched without(without_gradients());
  for (auto& [name, array] : own) array.assign(Array(state.at(name).clone(), array.place()));
}

Linear::Linear(int64_t in, int64_t out, bool has_bias) : weight(parameter("weight", within({out, in}, in))) {
  if (has_bias) bias = parameter("bias", within({out}, in));
}

Array Linear::operator()(const Array& x) { return layers::linear(x, weight, bias); }

BatchNorm2d::BatchNorm2d(int64_t channels)
    : weight(parameter("weight", full({DType::f32, {channels}}, 1))),
      bias(parameter("bias", full({DType::f32, {channels}}, 0))),
      running_mean(buffer("running_mean", full({DType::f32, {channels}}, 0))),
      running_var(buffer("running_var", full({DType::f32, {channels}}, 1))) {}

Array BatchNorm2d::operator()(const Array& x) {
  const Array operands[] = {x, weight, bias, running_mean, running_var};
  const OpInfo& info = ops::BatchNorm::record();
  const Arrays results = apply(info, {{"is_test", !switches().training}}, operands);
  if (switches().training) {
    const Switched without(without_gradients());
    running_mean.assign(results[static_cast<size_t>(info.output("mean_out"))]);
    running_var.assign(results[static_cast<size_t>(info.output("variance_out"))]);
  }
  return results[0];
}

LayerNorm::LayerNorm(const Dims& shape, double epsilon, bool has_bias)
    : weight(parameter("weight", full({DType::f32, shape}, 1))), epsilon_(epsilon) {
  if (has_bias) bias = parameter("bias", full({DType::f32, shape}, 0));
}

Array LayerNorm::operator()(const Array& x) {
  return apply("layer_norm", {x, weight, bias},
               {{"axis", -static_cast<int64_t>(weight.dims().size())}, {"epsilon", epsilon_}});
}

Embedding::Embedding(int64_t count, int64_t width) : weight(parameter("weight", normal({count, width}))) {}

Array Embedding::operator()(const Array& ids) { return apply("gather", {weight, ids}, {{"axis", int64_t{0}}}); }

Dropout::Dropout(double rate) : rate_(rate) {
  if (!(rate >= 0 && rate < 1)) fail(errors::dropout_rate_out_of_range(rate));
}

Array Dropout::operator()(const Array& x) { return switches().training && rate_ > 0 ? layers::dropout(x, rate_) : x; }

RnnCell::RnnCell(int64_t in, int64_t width, int64_t gates)
    : weight_ih(parameter("weight_ih", within({gates * width, in}, width))),
      weight_hh(parameter("weight_hh", within({gates * width, width}, width))),
      bias_ih(parameter("bias_ih", within({gates * width}, width))),
      bias_hh(parameter("bias_hh", within({gates * width}, width))),
      width_(width) {}

Array RnnCell::sums(const Array& x, const Array& h) const {
  return apply("add", {apply("linear", {x, weight_ih, bias_ih}), apply("linear", {h, weight_hh, bias_hh})});
}

Array RnnCell::zeros(const Array& x) const {
  note_extents(x);
  return full({x.dtype(), {x.dims()[0], width_}}, 0, x.place());
}

Array RnnCell::operator()(const Array& x) { return (*this)(x, zeros(x)); }
Array RnnCell::operator()(const Array& x, const Array& h) { return apply("tanh", {sums(x, h)}); }

Array LstmCell::operator()(const Array& x) { return (*this)(x, {zeros(x), zeros(x)}).first; }

std::pair<Array, Array> LstmCell::operator()(const Array& x, const std::pair<Array, Array>& state) {
  const Array all = sums(x, state.first);
  const auto gate = [&](int64_t place) {
    return apply("slice", {all},
                 {{"starts", std::vector{place * width_}},
                  {"ends", std::vector{(place + 1) * width_}},
                  {"axes", std::vector{int64_t{1}}},
                  {"steps", std::vector{int64_t{1}}}});
  };
  const Array taken = gate(0), kept = gate(1), cell = gate(2), given = gate(3);
  const Array c = apply("add", {apply("mul", {apply("sigmoid", {kept}), state.second}),
                                apply("mul", {apply("sigmoid", {taken}), apply("tanh", {cell})})});
  return {apply("mul", {apply("sigmoid", {given}), apply("tanh", {c})}), c};
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

Optimizer::Optimizer(Arrays parameters, double learning_rate)
    : parameters_(std::move(parameters)), learning_rate_(full({DType::f32, {1}}, learning_rate)) {}

void Optimizer::step() {
  const Switched without(without_gradients());
  for (size_t i = 0; i < parameters_.size(); ++i) {
    if (const Array gradient = parameters_[i].gradient()) update(parameters_[i], gradient, i);
  }
}

void Optimizer::zero_gradients() {
  for (Array& parameter : parameters_) parameter.set_gradient({});
}

Sgd::Sgd(Arrays parameters, double learning_rate, double momentum, double weight_decay)
    : Optimizer(std::move(parameters), learning_rate),
      attributes_{{"momentum", momentum}, {"weight_decay", weight_decay}} {
  for (const Array& parameter : this->parameters()) velocities_.push_back(full(parameter.type(), 0, parameter.place()));
}

void Sgd::update(Array parameter, const Array& gradient, size_t number) {
  Array& velocity = velocities_[number];
  const Array operands[] = {parameter, gradient, velocity, learning_rate()};
  const Arrays next = apply(ops::SgdMomentum::record(), attributes_, operands);
  parameter.assign(next[0]);
  velocity.assign(next[1]);
}

Adam::Adam(Arrays parameters, const AdamOptions& options)
    : Optimizer(std::move(parameters), options.learning_rate),
      attributes_{{"beta1", options.beta1},
                  {"beta2", options.beta2},
                  {"epsilon", options.epsilon},
                  {"weight_decay", options.weight_decay}} {
  for (const Array& parameter : this->parameters()) {
    const auto filled = [&](const Dims& dims, double value) {
      return full({DType::f32, dims}, value, parameter.place());
    };
    states_.push_back({filled(parameter.dims(), 0), filled(parameter.dims(), 0), filled({1}, 1), filled({1}, 1)});
  }
}

void Adam::update(Array parameter, const Array& gradient, size_t number) {
  Arrays& state = states_[number];
  const Array operands[] = {parameter, gradient, state[0], state[1], state[2], state[3], learning_rate()};
  const Arrays next = apply(ops::Adam::record(), attributes_, operands);
  parameter.assign(next[0]);
  for (size_t k = 0; k < state.size(); ++k) state[k].assign(next[k + 1]);
}

Array mse(const Array& found, const Array& expected) {
  const Array difference = apply("sub", {found, expected});
  std::vector<int64_t> axes;
  for (size_t axis = 0; axis < difference.dims().size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  return apply("reduce_mean", {apply("mul", {difference, difference})}, {{"axes", axes}, {"keep_dims", false}});
}

Array cross_entropy(const Array& logits, const Array& labels) {
  return apply("softmax_cross_entropy_loss", {logits, labels});
}

}  // namespace halfstep::capture
