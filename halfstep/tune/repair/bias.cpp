// Bias correction. Rounding shifts the means of layer outputs, and the biases compensate the shift. Analytic and
// empirical variants after Nagel et al., ICCV 2019.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/methods.h"

namespace halfstep::repair {
namespace {

void shift(Model& model, const Layer& layer, const std::vector<double>& by) {
  const auto bias = own_floats(model, layer.bias.name());
  for (size_t c = 0; c < bias.size(); ++c) bias[c] = static_cast<float>(double{bias[c]} + by[c]);
}

/// Corrects layer by layer. The inputs of a layer are the outputs of the layers corrected before.
Model corrected_by_outputs(const Model& model, const std::vector<Layer>& layers,
                           const std::map<std::string, Moments>& in_floats, const RepairContext& context) {
  Model corrected = model;
  for (const Layer& layer : layers) {
    const std::string& value = layer.op.out(0).name();
    const auto now = moments_of(simulated(corrected), {{value}}, context.samples, context.pool);
    std::vector<double> by = in_floats.at(value).mean;
    for (size_t c = 0; c < by.size(); ++c) by[c] -= now.at(value).mean[c];
    shift(corrected, layer, by);
  }
  return corrected;
}

/// The error that rounded weights add to each output on mean inputs. Treats borders like the interior.
std::vector<double> mean_error(const Layer& layer, std::span<const float> rounded, std::span<const float> weights,
                               const std::vector<double>& inputs_mean) {
  const Dims& dims = layer.weight.dims();
  const int64_t outputs = dims[0], inputs = dims[1];
  const int64_t run = count_elements(dims) / std::max<int64_t>(1, outputs * inputs);
  const int64_t groups = static_cast<int64_t>(inputs_mean.size()) / inputs;
  std::vector<double> error(static_cast<size_t>(outputs));
  for (int64_t o = 0; o < outputs; ++o) {
    for (int64_t i = 0; i < inputs; ++i) {
      double of_taps = 0;
      for (int64_t k = 0; k < run; ++k) {
        const auto at = static_cast<size_t>((o * inputs + i) * run + k);
        of_taps += double{rounded[at]} - double{weights[at]};
      }
      error[static_cast<size_t>(o)] += of_taps * inputs_mean[static_cast<size_t>(o / (outputs / groups) * inputs + i)];
    }
  }
  return error;
}

Model corrected_by_weights(const Model& model, const Model& reference, const std::vector<Layer>& layers,
                           const std::map<std::string, Moments>& in_floats, const RepairContext& context) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) names.push_back(layer.quantizer.out().name());
  train::BatchRunner runner(simulated(model), names, context.pool);
  const Tensors rounded = runner.run(context.samples.inputs(0, data::batch_of(model, 1)));
  Model corrected = model;
  for (const Layer& layer : layers) {
    if (layer.op.info().quant.weight_axis != 0) continue;
    const auto before = reference.tensors.at(layer.weight.name()).data<float>();
    std::vector<double> by = mean_error(layer, rounded.at(layer.quantizer.out().name()).data<float>(), before,
                                        in_floats.at(in_float(layer.op.in(0)).name()).mean);
    for (double& one : by) one = -one;
    shift(corrected, layer, by);
  }
  return corrected;
}

}  // namespace

Change correct_biases(const State& state, const RepairContext& context) {
  if (const std::string reason = why_weights_stay(state.model); !reason.empty()) return {{}, reason};
  const std::vector<Layer> layers = layers_with_bias(state.model);
  if (layers.empty()) return {{}, "no layer on codes has its own bias" + left_out(state.model)};
  std::vector<Watched> watched;
  for (const Layer& layer : layers) {
    watched.push_back({layer.op.out(0).name()});
    watched.push_back({in_float(layer.op.in(0)).name()});
  }
  const auto in_floats = moments_of(train::teacher_of(state.reference, context.samples.data->name), watched,
                                    context.samples, context.pool);
  const Model by_outputs = corrected_by_outputs(state.model, layers, in_floats, context);
  const Model by_weights = corrected_by_weights(state.model, state.reference, layers, in_floats, context);
  const double before = context.judge(state.model).loss, empirical = context.judge(by_outputs).loss,
               analytic = context.judge(by_weights).loss;
  const bool is_analytic = analytic < empirical;
  return {
      State{is_analytic ? by_weights : by_outputs, state.reference},
      fmt::format("corrected the biases of {} layers {}: distance {:.3g} instead of {:.3g}; {} it would be {:.3g}{}",
                  layers.size(), is_analytic ? "by the error of their weights" : "by the means of their outputs",
                  std::min(empirical, analytic), before, is_analytic ? "by outputs" : "by weights",
                  std::max(empirical, analytic), left_out(state.model))};
}

}  // namespace halfstep::repair
