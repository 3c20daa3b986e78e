#include "halfstep/train/calibrate/calibrate.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/compile/pack.h"
#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/graph/dependence.h"
#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/platform/step_observers.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrated_lengths.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/calibrate/untaken_branches.h"
#include "halfstep/train/evaluate/sample_rows.h"
#include "halfstep/train/evaluate/step_watch.h"

namespace halfstep::train {
namespace {

/// Inputs of one constant value would leave every layer without a range. A wrong folder or a wrong factor causes this.
/// One of several inputs may be constant, for example a mask.
void require_values(const Model& calibrated, const data::Samples& samples) {
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
    fail(errors::calibration_input_constant(samples.data->name, fmt::format("{}", constant->second), constant->first));
}

/// A quantizer has no range if its value has no elements or only NaN, or if it is in a loop that never runs.
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
    fail(errors::calibration_saw_no_number(calibrated.graph.name(), fmt::format("{}", fmt::join(unseen, ", "))));
}

/// The network that calibration runs: without its quantizers.
Model observing_form(const Model& prepared) {
  Model observing = prepared;
  passes::set_mode(observing.graph, passes::Mode::calibration);
  passes::bypass_quantizers(observing);
  passes::within_reach(observing);
  return observing;
}

/// Observers of tensors see the same values in every run, and no branch or loop depends on them.
void observe_tensors(Model& prepared, const Model& observing, const Tensors& inputs, ThreadPool& pool) {
  Model form = quant::with_observers(observing, quant::watches_tensors);
  for (const ops::ObserveRange& observer : form.graph.all<ops::ObserveRange>())
    form.graph.move(observer, form.graph.body());
  form.graph.set_outputs({}, {});
  std::map<std::string, Dims> extents;
  for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
  runtime::Program program = compile(specialize(form, extents));
  program.run(inputs, pool);
  for (const std::string& name : compiler::updated_tensors(form.graph)) {
    if (const auto known = prepared.tensors.find(name); known != prepared.tensors.end())
      known->second = program.tensor(name);
  }
}

/// All steps of a calibration.
class Calibration {
 public:
  Calibration(Model& prepared, const data::Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
              const ProgressCallback& progress)
      : prepared_(prepared),
        samples_(samples),
        pool_(pool),
        progress_(progress),
        observing_(observing_form(prepared)),
        lengths_(prepared, observing_, samples, options.max_length),
        depends_(passes::dependences(observing_, samples.extents(1))),
        order_(Random(options.seed, 0).permutation(samples.size())),
        step_(std::min(options.batch, samples.size())),
        steps_(std::min(std::max<int64_t>(1, options.batches), samples.size() / step_)),
        at_once_(data::judged_batch(prepared, step_)) {
    if (at_once_ > samples.size()) fail(errors::calibration_samples_too_few(samples.size(), at_once_));
  }

  Calibrated run() {
    observe_tensors(prepared_, observing_, samples_.inputs(0, at_once_, &order_), pool_);
    const auto watches_values = [](const ops::ObserveRange& observer) { return !quant::watches_tensors(observer); };
    observe(quant::with_observers(observing_, watches_values));
    lengths_.keep(prepared_);
    Calibrated result{steps_ * step_, lengths_.warnings()};
    UntakenBranches untaken(prepared_);
    while (untaken.find()) observe(untaken.entered(observing_));
    for (const std::string& branch : untaken.names())
      result.warnings.push_back(fmt::format(
          "{}: none of {} samples takes it, so its ranges come from other samples; add samples that take it", branch,
          result.samples));
    return result;
  }

 private:
  /// Runs every step of the observers of `form`.
  void observe(const Model& form) {
    const auto rows = rows_of_samples(form, depends_, samples_.inputs(0, at_once_, &order_), at_once_, pool_);
    const auto counts_once = [&](Value value) {
      const bool depends = !value.is_tensor() && depends_.at(value.name()).samples;
      return !depends && !rows.contains(value.name());
    };
    std::vector<StepWatch> watches;
    watches.emplace_back(form, at_once_, samples_.extents(at_once_), counts_once);
    if (const auto longer = lengths_.longer(form))
      watches.emplace_back(*longer, at_once_, lengths_.longest(samples_.extents(at_once_)), counts_once);
    const auto observers = form.graph.all<ops::ObserveRange>();
    for (int64_t i = 0; i < steps_; ++i) {
      observe_step(watches, observers, {samples_, order_, i * step_, step_});
      if (progress_) progress_({"calibration", static_cast<double>(i + 1), static_cast<double>(steps_), ""});
    }
  }

  void observe_step(std::vector<StepWatch>& watches, const std::vector<ops::ObserveRange>& observers,
                    const StepSamples& step) {
    ObservedSteps seen, ranges;
    for (const auto& observer : observers) seen.emplace(observer.low().name(), quant::nothing_observed(observer));
    for (StepWatch& watch : watches) watch.find_extremes(step, seen, pool_);
    for (const auto& observer : observers) {
      const std::string& low = observer.low().name();
      ranges.emplace(low, quant::range_of_sums(prepared_, observer, seen.at(low)));
    }
    for (StepWatch& watch : watches) watch.add_sums(step, ranges, seen, pool_);
    for (const auto& observer : observers) quant::take_step(prepared_, observer, seen.at(observer.low().name()));
  }

  Model& prepared_;
  const data::Samples& samples_;
  ThreadPool& pool_;
  const ProgressCallback& progress_;
  Model observing_;
  CalibratedLengths lengths_;
  std::map<std::string, passes::Dependence> depends_;
  std::vector<int64_t> order_;
  int64_t step_, steps_, at_once_;
};

}  // namespace

Calibrated calibrate(Model& prepared, const data::Samples& samples, const CalibrateOptions& options, ThreadPool& pool,
                     const ProgressCallback& progress) {
  if (!quant::is_prepared(prepared)) fail(errors::network_not_prepared());
  if (samples.size() == 0) fail(errors::calibration_samples_too_few(0, 1));
  quant::forget_ranges(prepared);
  Calibrated result = Calibration(prepared, samples, options, pool, progress).run();
  require_values(prepared, samples);
  require_ranges(prepared);
  passes::start_quantizers(prepared);
  return result;
}

}  // namespace halfstep::train
