#include "halfstep/train/evaluate/teacher.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/evaluate/errors.h"

namespace halfstep::train {
namespace {

/// Sums over the first axis of one output, for each position of the other axes.
struct Moments {
  std::vector<double> sum, sum_of_squares;
  int64_t rows = 0;

  void add(const Tensor& output) {
    const int64_t count = output.dims().empty() ? 1 : output.dims()[0];
    if (count == 0) return;
    const auto positions = static_cast<size_t>(output.size() / count);
    sum.resize(positions);
    sum_of_squares.resize(positions);
    rows += count;
    const auto values = output.data<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const double value{values[i]};
      sum[i % positions] += value;
      sum_of_squares[i % positions] += value * value;
    }
  }

  float spread() const {
    constexpr double kLeastShare = 1e-3;
    double variance = 0, square = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      const double mean = sum[i] / static_cast<double>(rows);
      const double mean_square = sum_of_squares[i] / static_cast<double>(rows);
      variance += std::max(0.0, mean_square - mean * mean);
      square += mean_square;
    }
    const double size = std::max<double>(1.0, static_cast<double>(sum.size()));
    const double spread = std::max(std::sqrt(variance / size), kLeastShare * std::sqrt(square / size));
    return spread > 0 ? static_cast<float>(spread) : 1.0F;
  }
};

/// Arguments or outputs of a graph, compared with those of another by position.
struct Side {
  std::vector<std::string> names;
  std::vector<Type> types;
};
Side arguments_of(const Graph& graph) {
  Side side;
  for (const Value argument : graph.arguments()) {
    side.names.push_back(argument.name());
    side.types.push_back(argument.type());
  }
  return side;
}
Side outputs_of(const Graph& graph) {
  Side side{graph.body().output_names(), {}};
  for (const Value output : graph.outputs()) side.types.push_back(output.type());
  return side;
}

/// Adds a diagnostic if `teacher` lacks a value of `own` or has another type for it.
void compare(const std::string& name, const char* side, const Side& teacher, const Side& own,
             std::vector<Diagnostic>& objections) {
  if (teacher.names.size() != own.names.size()) {
    objections.push_back(errors::teacher_arguments_miscounted(name, side, teacher.names.size(), own.names.size()));
    return;
  }
  for (size_t i = 0; i < own.names.size(); ++i) {
    if (teacher.types[i] == own.types[i]) continue;
    objections.push_back(errors::teacher_type_differs(name, side, teacher.names[i], to_string(teacher.types[i]),
                                                      to_string(own.types[i]), own.names[i]));
  }
}

/// Whether a value of the static type `given` fits the declared type.
bool takes(const Type& declared, const Type& given) {
  if (declared.dtype != given.dtype || declared.dims.size() != given.dims.size()) return false;
  for (size_t i = 0; i < given.dims.size(); ++i) {
    if (declared.dims[i] != kUnknown && declared.dims[i] != given.dims[i]) return false;
  }
  return true;
}

/// Renames the arguments of `graph`. Other values with one of these names are renamed too.
void name_arguments(Graph& graph, const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    const Value argument = graph.arguments()[i], holder = graph.value(names[i]);
    if (holder == argument) continue;
    if (holder && holder.producer()) graph.rename(holder.producer(), graph.unique_name(names[i]));
    if (holder && !holder.producer()) graph.rename(holder, graph.unique_name(names[i]));
    graph.rename(argument, names[i]);
  }
}

/// `model` with its arguments specialized to the extents of another network, by position.
Model sized_as(const Model& model, const Side& arguments) {
  std::map<std::string, Dims> extents;
  for (size_t i = 0; i < arguments.names.size(); ++i)
    extents.emplace(model.graph.arguments()[i].name(), arguments.types[i].dims);
  return specialize(model, extents);
}

/// The mean of one output of several networks, summed in float64 in their order.
Tensor mean_of(const std::vector<Tensors>& all, const std::string& name) {
  Tensor mean(DType::f32, all.front().at(name).dims());
  const auto to = mean.data<float>();
  std::vector<double> sums(to.size());
  for (const Tensors& one : all) {
    const auto from = one.at(name).data<float>();
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += double{from[i]};
  }
  for (size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<float>(sums[i] / static_cast<double>(all.size()));
  return mean;
}

}  // namespace

Model as_teacher(const Model& teacher, const Model& model, const std::map<std::string, Dims>& extents) {
  const Model own = specialize(model, extents);
  const Side arguments = arguments_of(own.graph);
  const std::string& name = teacher.graph.name();
  std::vector<Diagnostic> objections;
  if (const auto said = data::said_preprocess(teacher); said && *said != data::preprocess_of(model))
    objections.push_back(
        errors::teacher_preprocesses_otherwise(name, to_text(*said), to_text(data::preprocess_of(model))));
  Side inputs = arguments_of(teacher.graph);
  for (size_t i = 0; i < std::min(inputs.types.size(), arguments.types.size()); ++i) {
    if (takes(inputs.types[i], arguments.types[i])) inputs.types[i] = arguments.types[i];
  }
  compare(name, "input", inputs, arguments, objections);
  fail_on_any(objections);
  compare(name, "output", outputs_of(sized_as(teacher, arguments).graph), outputs_of(own.graph), objections);
  fail_on_any(std::move(objections));
  Model form = evaluation_form(teacher);
  name_arguments(form.graph, arguments.names);
  form.graph.set_outputs(form.graph.outputs(), outputs_of(own.graph).names);
  return form;
}

Tensors Teachers::outputs(const Tensors& inputs) {
  if (others.empty()) return own->run(inputs);
  std::vector<Tensors> all;
  for (BatchRunner& one : others) all.push_back(one.run(inputs));
  for (auto& [name, mean] : all.front()) {
    if (mean.dtype() == DType::f32) mean = mean_of(all, name);
  }
  return std::move(all.front());
}

Tensors Teachers::run(const Tensors& inputs) {
  if (!own || others.empty()) return outputs(inputs);
  Tensors wanted = own->run(inputs);
  for (auto& [name, tensor] : outputs(inputs)) wanted.insert_or_assign(name, std::move(tensor));
  return wanted;
}

void require_teacher(const Model& model, const std::string& data) {
  if (!quant::is_prepared(model)) fail(errors::distillation_of_float_network(data));
}

Model teacher_of(const Model& model, const std::string& data) {
  require_teacher(model, data);
  Model teacher = clone(model);
  passes::set_mode(teacher.graph, passes::Mode::evaluation);
  passes::bypass_quantizers(teacher);
  return teacher;
}

std::vector<std::string> float_outputs(const Model& model, const std::map<std::string, Dims>& extents) {
  const Model sized = specialize(model, extents);
  const std::vector<Value> outputs = sized.graph.outputs();
  std::vector<std::string> names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = outputs[i].type();
    if (type.dtype == DType::f32 && type.is_static()) names.push_back(model.graph.body().output_names()[i]);
  }
  if (names.empty()) fail(errors::no_output_to_learn_from(model.graph.name()));
  return names;
}

Spreads spreads_of(const Model& model, const Answers& teacher, const data::Samples& samples, int64_t batch,
                   uint64_t seed) {
  constexpr int64_t kMostSamples = 1024;
  constexpr uint64_t kStream = (uint64_t{3} << 62) + 1;  // the stream after that of split_validation
  const auto order = Random(seed, kStream).permutation(samples.size());
  const int64_t batches = std::max<int64_t>(1, std::min(kMostSamples, samples.size()) / batch);
  std::map<std::string, Moments> moments;
  for (const std::string& name : float_outputs(model, samples.extents(batch))) moments.try_emplace(name);
  for (int64_t i = 0; i < batches; ++i) {
    const Tensors outputs = teacher(samples.inputs(i * batch, batch, &order));
    for (auto& [name, of_output] : moments) of_output.add(outputs.at(name));
  }
  Spreads spreads;
  for (const auto& [name, of_output] : moments) spreads[name] = of_output.spread();
  return spreads;
}

Spreads Teachers::spreads(const Model& wide, const Model& model, const data::Samples& samples, int64_t batch,
                          uint64_t seed) {
  Spreads spreads = own ? spreads_of(wide, answers_of(*own), samples, batch, seed) : Spreads();
  if (others.empty()) return spreads;
  const Answers answers = [this](const Tensors& inputs) { return outputs(inputs); };
  for (const auto& [name, spread] : spreads_of(model, answers, samples, batch, seed)) spreads[name] = spread;
  return spreads;
}

}  // namespace halfstep::train
