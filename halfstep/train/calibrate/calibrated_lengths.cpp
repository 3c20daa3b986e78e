#include "halfstep/train/calibrate/calibrated_lengths.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/dependence.h"
#include "halfstep/quant/platform/step_observers.h"
#include "halfstep/train/calibrate/errors.h"

namespace halfstep::train {
namespace {

/// The largest extents for which ranges are valid. Empty for an argument without dynamic dimensions.
Dims held_extents(const Model& model, const std::string& argument) {
  const auto& lengths = model.metadata.calibrated_lengths;
  const auto found = lengths.find(argument);
  return found == lengths.end() ? Dims() : found->second;
}

/// Whether another observed value is on the path from the extents to `value`.
class Behind {
 public:
  Behind(const std::map<std::string, passes::Dependence>& depends, const std::set<std::string>& watched)
      : depends_(depends), watched_(watched) {}

  bool operator()(Value value) {
    const auto [at, is_new] = known_.emplace(value.name(), false);
    if (!is_new || !value.producer()) return at->second;
    bool found = false;
    for (const Value operand : value.producer().operands()) {
      if (!operand || operand.is_tensor() || !depends_.at(operand.name()).lengths) continue;
      found |= watched_.contains(operand.name()) || (*this)(operand);
    }
    return known_[value.name()] = found;
  }

 private:
  const std::map<std::string, passes::Dependence>& depends_;
  const std::set<std::string>& watched_;
  std::map<std::string, bool> known_;
};

}  // namespace

CalibratedLengths::CalibratedLengths(const Model& prepared, const Model& observing, const data::Samples& samples,
                                     std::optional<int64_t> most)
    : open_(passes::open_lengths(prepared.graph)),
      found_(samples.extents(1)),
      most_(most ? most : longer_before(prepared)) {
  if (open_.empty() && most) fail(errors::max_length_without_dynamic_dimension(*most, prepared.graph.name()));
  if (open_.empty()) return;
  if (most_) require_most();
  const auto depends = passes::dependences(observing, found_);
  std::set<std::string> watched;
  std::vector<Value> values;
  for (const auto& observer : prepared.graph.all<ops::ObserveRange>()) {
    for (const Value value : observer.x()) {
      if (value.is_tensor() || !depends.at(value.name()).lengths || !watched.insert(value.name()).second) continue;
      observers_.insert(observer.low().name());
      values.push_back(value);
    }
  }
  Behind is_behind(depends, watched);
  for (const Value value : values) {
    if (is_behind(observing.graph.value(value.name())))
      ++behind_;
    else
      first_.push_back(value.name());
  }
}

std::optional<int64_t> CalibratedLengths::longer_before(const Model& prepared) const {
  std::optional<int64_t> longest;
  bool is_longer = false;
  for (const auto& [name, open] : open_) {
    const Dims held = held_extents(prepared, name);
    for (size_t axis = 1; axis < std::min(held.size(), open.size()); ++axis) {
      if (open[axis] != kUnknown) continue;
      if (held[axis] < found_.at(name)[axis]) return std::nullopt;
      is_longer |= held[axis] > found_.at(name)[axis];
      longest = std::max(longest.value_or(0), held[axis]);
    }
  }
  return is_longer ? longest : std::nullopt;
}

void CalibratedLengths::require_most() const {
  for (const auto& [name, open] : open_) {
    const Dims& dims = found_.at(name);
    for (size_t axis = 1; axis < open.size(); ++axis) {
      if (open[axis] == kUnknown && dims[axis] > *most_)
        fail(errors::max_length_too_short(*most_, dims[axis], name, axis));
    }
  }
}

std::optional<Model> CalibratedLengths::longer(const Model& form) const {
  if (!most_ || observers_.empty() || longest(found_) == found_) return std::nullopt;
  Model model = quant::with_observers(
      form, [&](const ops::ObserveRange& observer) { return observers_.contains(observer.low().name()); });
  if (model.graph.all<ops::ObserveRange>().empty()) return std::nullopt;
  return model;
}

std::map<std::string, Dims> CalibratedLengths::longest(std::map<std::string, Dims> extents) const {
  for (const auto& [name, open] : open_) {
    Dims& dims = extents.at(name);
    for (size_t axis = 1; axis < open.size(); ++axis) {
      if (open[axis] == kUnknown) dims[axis] = std::max(dims[axis], most_.value_or(0));
    }
  }
  return extents;
}

void CalibratedLengths::keep(Model& prepared) const {
  auto& lengths = prepared.metadata.calibrated_lengths;
  lengths.clear();
  if (observers_.empty()) return;
  for (const auto& [name, dims] : longest(found_)) {
    if (open_.contains(name)) lengths[name] = dims;
  }
}

std::optional<std::string> beyond_calibrated(const Model& model, const std::map<std::string, Dims>& extents) {
  for (const auto& [name, dims] : extents) {
    const Dims held = held_extents(model, name);
    for (size_t axis = 1; axis < std::min(held.size(), dims.size()); ++axis) {
      if (dims[axis] > held[axis])
        return fmt::format(
            "network '{}': input '{}' has the extent {} on axis {}, and its ranges are valid up to {}; quantize it for "
            "such inputs (--max-length {})",
            model.graph.name(), name, dims[axis], axis, held[axis], dims[axis]);
    }
  }
  return std::nullopt;
}

std::vector<std::string> CalibratedLengths::warnings() const {
  if (most_ || first_.empty()) return {};
  std::vector<std::string> inputs;
  for (const auto& [name, open] : open_) {
    Dims dims = found_.at(name);
    dims[0] = open[0];
    inputs.push_back(fmt::format("'{}' {}", name, to_string(dims)));
  }
  const std::string further = behind_ == 0 ? "" : fmt::format(" and of {} more", behind_);
  return {
      fmt::format("the ranges of '{}'{} depend on dynamic dimensions, and are valid for {}; for longer inputs set the "
                  "largest extent (--max-length)",
                  fmt::join(first_, "', '"), further, fmt::join(inputs, ", "))};
}

}  // namespace halfstep::train
