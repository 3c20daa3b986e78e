#include "halfstep/tune/sensitivity/gradients.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/train/loop/joint_graph.h"
#include "halfstep/train/loop/training_graph.h"

namespace halfstep::sensitivity {
namespace {

std::vector<Variable> variables_of(const FloatNetwork& network) {
  std::vector<Variable> variables;
  for (const Place& place : network.places()) {
    // moved by an argument that is added to it
    const bool is_moved = place.is_computed() && !is_in_region(place.quantizer);
    if (!place.is_weight && !is_moved) continue;
    const bool known = std::ranges::any_of(variables, [&](const Variable& one) { return one.value == place.value(); });
    if (!known) variables.push_back({place.value(), place.value(), "", "", place.is_weight});
  }
  return variables;
}

/// Adds an argument to the value for all its readers.
Value add_shift(Graph& graph, Value value) {
  const Value shift = passes::add_argument(graph, value.name() + ".shift", value.type());
  Builder builder = passes::builder_behind(graph, value);
  const ops::Add sum = ops::add(builder, {.a = value, .b = shift, .name = value.name() + ".shifted"});
  value.replace_all_uses_with(sum.out());
  sum.set_operand(0, value);
  return shift;
}

runtime::Program compiled(const Model& model) {
  CompileOptions options;
  options.freeze_tensors = false;  // weights are changed between runs
  return compile(model, options);
}

}  // namespace

LossProgram::LossProgram(const FloatNetwork& network, const Trial& trial, int64_t batch, uint64_t seed)
    : trial_(trial),
      batch_(batch),
      seed_(seed),
      variables_(variables_of(network)),
      in_float_(train::evaluation_form(network.in_float()), {}, trial.pool()),
      program_(compiled(graph_of(network))) {}

Model LossProgram::graph_of(const FloatNetwork& network) {
  Model shifted = specialize(network.in_float(), trial_.samples().extents(batch_));
  std::vector<std::string> names;
  for (Variable& variable : variables_) {
    if (!variable.is_weight) {
      const Value shift = add_shift(shifted.graph, shifted.graph.value(variable.value));
      variable.moved = shift.name();
      variable.contents = "value of " + variable.value;
      zeros_.emplace(shift.name(), Tensor(DType::f32, shift.dims()));
    }
    names.push_back(variable.moved);
  }
  Model step = train::differentiable_form(shifted, {});
  std::vector<Value> outputs = step.graph.outputs();
  std::vector<std::string> output_names = step.graph.body().output_names();
  const Value loss =
      train::add_loss(step, trial_.has_labels() ? train::Loss::labels : train::Loss::teacher, trial_.loss_spreads());
  const Value one = passes::add_tensor(step, "loss.one", Tensor::scalar(1.0F), Role::constant);
  const auto gradients = passes::autodiff(step, {{loss, one}}, names).of;
  for (Variable& variable : variables_) {
    if (!variable.is_weight) {
      outputs.push_back(step.graph.value(variable.value));
      output_names.push_back(variable.contents);
    }
    const auto found = gradients.find(variable.moved);
    if (found == gradients.end()) continue;
    variable.gradient = "gradient of " + variable.value;
    outputs.push_back(found->second);
    output_names.push_back(variable.gradient);
  }
  step.graph.set_outputs(std::move(outputs), std::move(output_names));
  return step;
}

Tensors LossProgram::inputs(int64_t begin) {
  Tensors inputs = trial_.inputs(begin, batch_);
  Tensors answers;
  if (!trial_.has_labels()) answers = in_float_.run(inputs);
  inputs.insert(zeros_.begin(), zeros_.end());
  if (trial_.has_labels()) inputs.emplace(train::kLabels, trial_.labels(begin, batch_));
  for (const auto& [name, spread] : trial_.loss_spreads())
    inputs.emplace(train::teacher_argument(name), answers.at(name));
  return inputs;
}

Tensors LossProgram::scattered_inputs(int64_t begin, uint64_t stream) {
  Tensors inputs = this->inputs(begin);
  for (const auto& [name, spread] : trial_.loss_spreads()) {
    Tensor& wanted = inputs.at(train::teacher_argument(name));
    wanted = wanted.clone();
    const double each = static_cast<double>(wanted.size()) / static_cast<double>(batch_);
    const Tensor signs = random_signs(wanted.dims(), seed_, stream++);
    const auto by = static_cast<float>(static_cast<double>(spread) * std::sqrt(each / 2));
    const auto to = wanted.data<float>();
    for (size_t i = 0; i < to.size(); ++i) to[i] -= by * signs.data<float>()[i];
  }
  return inputs;
}

Tensor random_signs(const Dims& dims, uint64_t seed, uint64_t stream) {
  Tensor signs = Tensor::uninitialized(DType::f32, dims);
  Random random(seed, stream);
  uint32_t bits = 0;
  const auto to = signs.data<float>();
  for (size_t i = 0; i < to.size(); ++i, bits >>= 1) {
    if (i % 32 == 0) bits = random.bits();
    to[i] = (bits & 1) != 0 ? 1.0F : -1.0F;
  }
  return signs;
}

}  // namespace halfstep::sensitivity
