#include "halfstep/train/calibrate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "halfstep/base/random.h"
#include "halfstep/base/status.h"
#include "halfstep/compile/compile.h"
#include "halfstep/ir/flow.h"
#include "halfstep/passes/bypass_quantizers.h"
#include "halfstep/passes/learned_quantizers.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/passes/within_reach.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/quant/quantizer.h"

namespace halfstep::train {
namespace {

/// Images of one value, as a wrong folder or a wrong factor gives them, would leave every layer without a range. One
/// input among others may be constant, as a mask is.
void require_values(const Model& calibrated, const Samples& samples) {
  std::optional<std::pair<std::string, float>> constant;
  for (const auto& quantizer : calibrated.graph.body().all<ops::FakeQuantize>()) {
    const Value input = quantizer.x();
    if (input.producer() || input.is_tensor()) continue;
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    const float low = calibrated.tensors.at(observer.low().name()).data<float>()[0];
    const float high = calibrated.tensors.at(observer.high().name()).data<float>()[0];
    if (low != high) return;
    if (!constant) constant = {input.name(), low};
  }
  if (constant)
    fail("{}: found nothing but {} for input '{}', expected samples as the network meets them", samples.data->name,
         constant->second, constant->first);
}

/// A value without elements, or of NaN alone, leaves its quantizer without a range, as does a branch that nobody took.
void require_ranges(const Model& calibrated) {
  std::vector<std::string> unseen;
  for (const auto& quantizer : calibrated.graph.all<ops::FakeQuantize>()) {
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    const auto low = calibrated.tensors.at(observer.low().name()).data<float>();
    const auto high = calibrated.tensors.at(observer.high().name()).data<float>();
    const bool is_untouched = !low.empty() && std::isinf(low[0]) && low[0] > high[0];
    if (low.empty() || is_untouched) unseen.push_back(fmt::format("{}'{}'", path_to(quantizer), quantizer.x().name()));
  }
  if (!unseen.empty())
    fail(
        "network '{}': calibration saw no number in {}: without elements, nothing but NaN, or in a branch that none of "
        "these samples takes; give samples that take it, or keep the branch in float (--float NAME)",
        calibrated.graph.name(), fmt::join(unseen, ", "));
}

/// Whether an observer sees the same in every batch, as one of weights does.
bool watches_tensors(const ops::ObserveRange& observer) { return std::ranges::all_of(observer.x(), &Value::is_tensor); }

/// The graph with those observers alone that watch tensors, which no branch or loop decides on, or with the others.
Model with_observers(const Model& observing, bool of_tensors) {
  Model part = clone(observing);
  for (const ops::ObserveRange& observer : part.graph.all<ops::ObserveRange>()) {
    if (watches_tensors(observer) != of_tensors)
      part.graph.erase(observer);
    else if (of_tensors)
      part.graph.move(observer, part.graph.body());
  }
  if (of_tensors) part.graph.set_outputs({}, {});
  return part;
}

/// The ranges that a program saw, of all its observers.
void take_ranges(Model& prepared, const runtime::Program& program) {
  for (const auto& [name, tensor] : program.tensors()) {
    if (const auto known = prepared.tensors.find(name); known != prepared.tensors.end()) known->second = tensor;
  }
}

/// What is in branches and loops sees samples one at a time, as it does on a device: which branch a whole batch takes
/// says nothing of its samples.
void look_singly(Model& prepared, const Model& observing, const Samples& samples, int64_t count,
                 const std::vector<int64_t>& order, ThreadPool& pool) {
  if (judged_batch(prepared, 2) != 1) return;
  runtime::Program program = compile(specialize(observing, samples.extents(1)));
  for (int64_t i = 0; i < count; ++i) program.run(samples.inputs(i, 1, &order), pool);
  const auto seen = program.tensors();
  for (const auto& observer : prepared.graph.all<ops::ObserveRange>()) {
    if (!is_in_region(observer) || watches_tensors(observer)) continue;
    for (const Value tensor :
         {observer.low(), observer.high(), observer.scale(), observer.zero_point(), observer.seen()}) {
      if (tensor) prepared.tensors[tensor.name()] = seen.at(tensor.name());
    }
  }
}

}  // namespace

void calibrate(Model& prepared, const Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
               const ProgressCallback& progress) {
  if (!quant::is_prepared(prepared)) fail("calibration needs a prepared network; run quantize first");
  if (samples.size() == 0) fail("calibration needs at least one sample, found none");
  Model observing = prepared;
  quant::forget_ranges(observing);  // an observer would add to what it saw before
  passes::set_mode(observing.graph, passes::Mode::calibration);
  passes::bypass_quantizers(observing.graph);
  passes::within_reach(observing);
  const int64_t batch = batch_of(prepared, std::min(options.batch, samples.size()));
  const int64_t batches =
      std::min(std::max<int64_t>(1, options.batch * options.batches / batch), samples.size() / batch);
  if (batches == 0)
    fail("calibration needs {} samples, which the network takes at once; found {}", batch, samples.size());

  const Model sized = specialize(observing, samples.extents(batch));
  runtime::Program of_weights = compile(with_observers(sized, true));
  runtime::Program of_features = compile(with_observers(sized, false));
  const auto order = Random(options.seed, 0).permutation(samples.size());
  for (int64_t i = 0; i < batches; ++i) {
    const auto inputs = samples.inputs(i * batch, batch, &order);
    if (i == 0) of_weights.run(inputs, pool);
    of_features.run(inputs, pool);
    if (progress) progress({"calibration", static_cast<double>(i + 1), static_cast<double>(batches), ""});
  }
  take_ranges(prepared, of_weights);
  take_ranges(prepared, of_features);
  look_singly(prepared, with_observers(observing, false), samples, batches * batch, order, pool);
  require_values(prepared, samples);
  require_ranges(prepared);
  passes::start_quantizers(prepared);
}

}  // namespace halfstep::train
