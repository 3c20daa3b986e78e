#include "halfstep/engine/capture/call_kind.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/status.h"

namespace halfstep::capture {
namespace {

size_t first_same(const Arrays& arrays, size_t i) {
  size_t first = 0;
  while (!arrays[first].is(arrays[i])) ++first;
  return first;
}

/// Dimensions of `expected` may be dynamic.
bool is_of(const Type& type, const Type& expected) {
  const auto fits = [](int64_t extent, int64_t wanted) { return extent == wanted || wanted == kUnknown; };
  return type.dtype == expected.dtype && std::ranges::equal(type.dims, expected.dims, fits);
}

std::string text(const Type& type, Place place, bool differentiable, bool keeps_gradient) {
  return fmt::format("{}{}{}{}", to_string(type), place == Place{} ? "" : " at " + to_string(place),
                     differentiable ? ", differentiable" : "", keeps_gradient ? ", with its gradient" : "");
}

}  // namespace

CallKind::CallKind(const Arrays& inputs) : switches_(capture::switches()) {
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs_.push_back({inputs[i].type(), inputs[i].place(), inputs[i].is_differentiable(),
                       inputs[i].requires_gradient(), first_same(inputs, i)});
}

std::string CallKind::switches_mismatch() const {
  const Switches& now = capture::switches();
  if (switches_ == now) return {};
  if (switches_.training != now.training)
    return fmt::format("training mode: found {}, expected {}", now.training, switches_.training);
  if (switches_.gradients != now.gradients)
    return fmt::format("gradients: found {}, expected {}", now.gradients, switches_.gradients);
  return fmt::format("device: found {}, expected {}", to_string(now.place), to_string(switches_.place));
}

std::string CallKind::mismatch(const Arrays& inputs) const {
  if (std::string found = switches_mismatch(); !found.empty()) return found;
  if (inputs.size() != inputs_.size())
    return fmt::format("arrays: found {}, expected {}", inputs.size(), inputs_.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Array& array = inputs[i];
    const Input& input = inputs_[i];
    if (!is_of(array.type(), input.type) || array.place() != input.place ||
        array.is_differentiable() != input.differentiable || array.requires_gradient() != input.keeps_gradient)
      return fmt::format("array {}: found {}, expected {}", i,
                         text(array.type(), array.place(), array.is_differentiable(), array.requires_gradient()),
                         text(input.type, input.place, input.differentiable, input.keeps_gradient));
    if (first_same(inputs, i) != input.same_as)
      return fmt::format("array {}: found {}, expected {}", i,
                         input.same_as == i ? "the same array as another argument" : "another array",
                         input.same_as == i ? "a separate array" : fmt::format("the same as array {}", input.same_as));
  }
  return {};
}

bool CallKind::is_but_for_extents(const Arrays& inputs) const {
  const auto has_axes = [](const Input& input, const Array& array) {
    return input.type.dims.size() == array.dims().size();
  };
  if (switches_ != capture::switches() || !std::ranges::equal(inputs_, inputs, has_axes)) return false;
  CallKind wider = *this;
  wider.open(inputs);
  return wider.mismatch(inputs).empty();
}

void CallKind::open(const Arrays& inputs) {
  for (size_t i = 0; i < std::min(inputs.size(), inputs_.size()); ++i) {
    Dims& dims = inputs_[i].type.dims;
    const Dims& met = inputs[i].dims();
    for (size_t axis = 0; axis < dims.size() && dims.size() == met.size(); ++axis) {
      if (dims[axis] != met[axis]) dims[axis] = kUnknown;
    }
  }
}

std::vector<std::string> CallKind::types() const {
  std::vector<std::string> types;
  for (const Input& input : inputs_)
    types.push_back(text(input.type, input.place, input.differentiable, input.keeps_gradient));
  return types;
}

}  // namespace halfstep::capture
