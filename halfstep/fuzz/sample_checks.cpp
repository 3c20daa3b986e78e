// Checks that results do not depend on the batch size, the number of files or the extents of samples.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/fuzz/checks.h"
#include "halfstep/fuzz/engine_habits.h"
#include "halfstep/fuzz/perturbed_runs.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/prepare/code_plan.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::fuzz {
namespace {

/// Compares ranges, scales and zero points of quantizers that both networks have for the same value with the same bit
/// width. Networks with known extents may have fewer operators. Then the last layer may differ, the first layer of a
/// module has the module's name, and extents that are read as numbers are tensors.
void require_same_scales(const Model& found, const Model& expected, const std::string& when) {
  const GivenNames &found_names = found.metadata.given_names, &expected_names = expected.metadata.given_names;
  for (const auto& quantizer : expected.graph.all<ops::FakeQuantize>()) {
    if (const Op op = found.graph.op(quantizer.name()); op.is<ops::FakeQuantize>()) {
      const ops::FakeQuantize same(op.node());
      if (quant::bits_of(same) != quant::bits_of(quantizer)) continue;
      if (given_name(found_names, same.x().name()) != given_name(expected_names, quantizer.x().name())) continue;
    }
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    for (const Value value : {observer.low(), observer.high(), observer.scale(), observer.zero_point()}) {
      const Tensor& tensor = expected.tensors.at(value.name());
      const auto at = found.tensors.find(value.name());
      if (at == found.tensors.end() || at->second.type() != tensor.type() || at->second.same_bits(tensor)) continue;
      throw Found{fmt::format("'{}' differs {}", value.name(), when)};
    }
  }
}

}  // namespace

void check_splits(Trial& trial) {
  const Network& network = trial.network();
  if (!network.rows || !network.dynamic_batch || network.samples == 0) throw Skipped{"the batch is fixed"};
  for (const int64_t batch : std::set<int64_t>{1, network.batch, network.samples})
    require_same_scales(trial.prepared_from(batch, trial.tools().two), trial.prepared(),
                        fmt::format("with a file's batch of {}", batch));
}

void check_integers(Trial& trial) {
  const Network& network = trial.network();
  if (network.on_codes.empty()) throw Skipped{"no layer with a tail"};
  const quant::Platform& platform = quant::platform_of(trial.prepared());
  if (platform.name != "generic_int8" || platform.requantize != "fixed_point") throw Skipped{"not all forms are there"};
  for (const quant::FloatFallback& fallback : trial.conversion().fallbacks) {
    if (quant::is_of_another(fallback.reason)) continue;
    const bool is_own = network.values.contains(fallback.layer);
    const std::string name = is_own ? fallback.layer : fallback.layer.substr(0, fallback.layer.find('.'));
    if (network.on_codes.contains(name))
      throw Found{fmt::format("{} '{}' stays in float: {}", fallback.op, fallback.layer, fallback.reason)};
  }
}

namespace {

/// Outputs of a stage with dynamic dimensions at other extents. The check is whether the stage accepts them.
Tensors outputs_elsewhere(Trial& trial, const Model& model, const std::string& stage, const RunOptions& options = {}) {
  try {
    return run_model(model, trial.network().elsewhere, trial.tools().pool, options);
  } catch (const Error& error) {
    if (trial.tools().engine != nullptr) {
      const auto answer = trial.tools().engine->run(trial.bytes(), trial.network().elsewhere);
      if (!answer.refusal.empty()) throw Skipped{"onnxruntime: " + message_form(answer.refusal), error.what()};
    }
    throw Found{fmt::format("the {} network accepts only the extents of the samples: {}", stage, error.what())};
  }
}

}  // namespace

void check_extents(Trial& trial) {
  const Network& network = trial.network();
  if (network.elsewhere.empty()) throw Skipped{"no dynamic dimension but the batch"};
  if (!trial.stays_open()) throw Found{"dynamic dimensions are closed to those of the samples"};
  const Tensors expected = outputs_elsewhere(trial, trial.source(), "float", {.reference = true});
  const Perturbed perturbed = perturbed_runs(trial.source(), network.elsewhere, trial.tools().pool);
  if (trial.tools().engine != nullptr) {
    const auto answer = trial.tools().engine->run(trial.bytes(), network.elsewhere);
    Tensors engine;
    int number = 0;
    for (const auto& output : network.model.graph().output()) {
      if (answer.refusal.empty()) engine.emplace(output.name(), answer.outputs.at(std::to_string(number++)));
    }
    const std::string what = answer.refusal.empty() ? difference(expected, engine, perturbed) : "";
    const std::string habit = what.empty() ? "" : engine_habit(network, expected, engine);
    if (!habit.empty()) throw Skipped{habit};
    if (!what.empty()) throw Found{"at other extents, " + what};
  }
  outputs_elsewhere(trial, trial.integer(), "integer");
}

namespace {

/// Inputs of the quantizers in the body, in float arithmetic.
Tensors quantized_values(Trial& trial, const Tensors& inputs) {
  Model plain = trial.prepared();
  passes::set_mode(plain.graph, passes::Mode::evaluation);
  std::set<std::string> names;
  for (const auto& quantizer : plain.graph.body().all<ops::FakeQuantize>()) {
    if (!quantizer.x().is_tensor()) names.insert(quantizer.x().name());
  }
  std::vector<Value> values;
  for (const std::string& name : names) values.push_back(plain.graph.value(name));
  plain.graph.set_outputs(std::move(values), {names.begin(), names.end()});
  passes::bypass_quantizers(plain);
  return run_model(plain, inputs, trial.tools().pool);
}

/// Other float values in tensors of the same extents.
Tensors others_like(const Tensors& tensors) {
  Tensors others = tensors;
  for (auto& [name, tensor] : others) {
    tensor = tensor.clone();
    if (tensor.dtype() != DType::f32) continue;
    for (float& real : tensor.data<float>()) real = 5 - 3 * real;
  }
  return others;
}

Tensors zeros_like(const Tensors& tensors) {
  Tensors zeros;
  for (const auto& [name, tensor] : tensors) zeros.emplace(name, Tensor(tensor.dtype(), tensor.dims()));
  return zeros;
}

/// Whether an element is more than two steps outside both the range and the values in `known`.
bool leaves(const Tensor& tensor, const Tensor& known, const Tensor& low, const Tensor& high, int bits) {
  double least = element(low, 0), most = element(high, 0);
  const double slack = 2 * (most - least) / (std::exp2(bits) - 1);
  for (int64_t i = 0; i < known.size(); ++i) {
    least = std::min(least, element(known, i));
    most = std::max(most, element(known, i));
  }
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double x = element(tensor, i);
    if (x > most + slack || x < least - slack) return true;
  }
  return false;
}

}  // namespace

void check_lengths(Trial& trial) {
  const Network& network = trial.network();
  if (network.elsewhere.empty()) throw Skipped{"no dynamic dimension but the batch"};
  if (!trial.warnings().empty()) return;
  const Tensors found = quantized_values(trial, network.elsewhere);
  const Tensors of_zeros = quantized_values(trial, zeros_like(network.elsewhere));
  const Tensors of_others = quantized_values(trial, others_like(network.elsewhere));
  const Tensors known = quantized_values(trial, trial.inputs());
  const Model& prepared = trial.prepared();
  for (const auto& quantizer : prepared.graph.body().all<ops::FakeQuantize>()) {
    const auto at = found.find(quantizer.x().name());
    if (at == found.end() || !at->second.same_bits(of_zeros.at(at->first))) continue;
    if (!at->second.same_bits(of_others.at(at->first))) continue;
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    if (leaves(at->second, known.at(at->first), prepared.tensors.at(observer.low().name()),
               prepared.tensors.at(observer.high().name()), quant::bits_of(quantizer)))
      throw Found{fmt::format("'{}' depends only on extents and exceeds its range, without a warning", at->first)};
  }
}

}  // namespace halfstep::fuzz
