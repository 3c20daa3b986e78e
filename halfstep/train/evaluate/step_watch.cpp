#include "halfstep/train/evaluate/step_watch.h"

#include <algorithm>
#include <cstring>

#include "halfstep/engine/compile/compile.h"

namespace halfstep::train {
namespace {

using Keeps = std::function<bool(Value)>;

/// `model` with observers that sum statistics of the operands accepted by `keeps`. nullopt if there are none.
std::optional<Model> sums_form(const Model& model, const Keeps& keeps) {
  Model form = model;
  quant::observe_sums(form, keeps);
  if (form.graph.all<ops::ObserveRange>().empty()) return std::nullopt;
  return form;
}

Model extremes_form(Model model) {
  quant::observe_extremes(model);
  return model;
}

/// Elements of `tensor` along `axis`, repeated from the first one.
Tensor cycled(const Tensor& tensor, size_t axis, int64_t extent) {
  Dims dims = tensor.dims();
  const int64_t own = dims[axis];
  dims[axis] = extent;
  Tensor longer = Tensor::uninitialized(tensor.dtype(), dims);
  const int64_t outer = count_elements(std::span(dims).first(axis));
  const size_t inner = static_cast<size_t>(count_elements(std::span(dims).subspan(axis + 1))) * size_of(tensor.dtype());
  for (int64_t i = 0; i < outer; ++i) {
    for (int64_t k = 0; k < extent; ++k)
      std::memcpy(longer.raw() + static_cast<size_t>(i * extent + k) * inner,
                  tensor.raw() + static_cast<size_t>(i * own + k % own) * inner, inner);
  }
  return longer;
}

}  // namespace

StepWatch::Watching::Watching(const Model& form) : program(compile(form)) {
  for (const auto& observer : form.graph.all<ops::ObserveRange>())
    observers.push_back({observer.low().name(), observer.high().name(), observer.seen() ? observer.seen().name() : ""});
}

void StepWatch::Watching::set(const ObservedSteps& ranges) {
  for (const Observer& observer : observers) {
    const quant::ObservedStep& range = ranges.at(observer.low);
    program.set_tensor(observer.low, range.low);
    program.set_tensor(observer.high, range.high);
  }
}

Tensors StepWatch::Watching::take_sums() {
  Tensors taken;
  for (const Observer& observer : observers) {
    Tensor sums = program.tensor(observer.sums);
    program.set_tensor(observer.sums, Tensor(sums.dtype(), sums.dims()));
    taken.emplace(observer.low, std::move(sums));
  }
  return taken;
}

StepWatch::StepWatch(const Model& observing, int64_t at_once, std::map<std::string, Dims> extents,
                     const std::function<bool(Value)>& counts_once)
    : at_once_(at_once), extents_(std::move(extents)), extremes_(extremes_form(specialize(observing, extents_))) {
  const Model sized = specialize(observing, extents_);
  if (auto form = sums_form(sized, [&](Value value) { return !counts_once(value); })) sums_.emplace(*form);
  if (auto form = sums_form(sized, counts_once)) constants_.emplace(*form);
}

void StepWatch::find_extremes(const StepSamples& step, ObservedSteps& seen, ThreadPool& pool) {
  extremes_.set(seen);
  for (int64_t at = 0; at + at_once_ <= step.size; at += at_once_) extremes_.run(inputs(step, at), pool);
  if (rest(step) > 0) extremes_.run(last_inputs(step), pool);
  for (const Observer& observer : extremes_.observers)
    quant::widen(seen.at(observer.low), extremes_.program.tensor(observer.low),
                 extremes_.program.tensor(observer.high));
}

void StepWatch::add_sums(const StepSamples& step, const ObservedSteps& ranges, ObservedSteps& seen, ThreadPool& pool) {
  const auto add = [&](const Tensors& sums, int64_t times) {
    for (const auto& [low, tensor] : sums) quant::add_sums(seen.at(low).sums, tensor, times);
  };
  if (constants_) {
    constants_->set(ranges);
    constants_->run(step.size >= at_once_ ? inputs(step, 0) : last_inputs(step), pool);
    add(constants_->take_sums(), step.size);
  }
  if (!sums_) return;
  sums_->set(ranges);
  for (int64_t at = 0; at + at_once_ <= step.size; at += at_once_) sums_->run(inputs(step, at), pool);
  if (rest(step) > 0) sums_->run(last_inputs(step), pool);
  add(sums_->take_sums(), 1);
  if (rest(step) == 0) return;
  sums_->run(repeated_inputs(step), pool);
  Tensors repeated = sums_->take_sums();
  for (auto& [low, sums] : repeated) quant::divide_sums(sums, at_once_);  // sums of the last sample only
  add(repeated, rest(step) - at_once_);
}

Tensors StepWatch::inputs(const StepSamples& step, int64_t begin) const {
  return lengthened(step.samples.inputs(step.begin + begin, at_once_, &step.order));
}

Tensors StepWatch::last_inputs(const StepSamples& step) const {
  const int64_t end = step.begin + step.size;
  std::vector<int64_t> places(step.order.begin() + (end - rest(step)), step.order.begin() + end);
  places.resize(static_cast<size_t>(at_once_), places.back());
  return placed_inputs(step, places);
}

Tensors StepWatch::repeated_inputs(const StepSamples& step) const {
  const int64_t last = step.order[static_cast<size_t>(step.begin + step.size - 1)];
  return placed_inputs(step, std::vector(static_cast<size_t>(at_once_), last));
}

Tensors StepWatch::placed_inputs(const StepSamples& step, const std::vector<int64_t>& places) const {
  data::Samples placed = step.samples;
  placed.indices.clear();
  for (const int64_t place : places) placed.indices.push_back(step.samples.indices[static_cast<size_t>(place)]);
  return lengthened(placed.inputs(0, at_once_));
}

Tensors StepWatch::lengthened(Tensors inputs) const {
  for (auto& [name, tensor] : inputs) {
    const Dims& wanted = extents_.at(name);
    for (size_t axis = 1; axis < wanted.size(); ++axis) {
      if (tensor.dims()[axis] != wanted[axis]) tensor = cycled(tensor, axis, wanted[axis]);
    }
  }
  return inputs;
}

}  // namespace halfstep::train
