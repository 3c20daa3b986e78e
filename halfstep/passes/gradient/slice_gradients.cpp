#include "halfstep/passes/gradient/slice_gradients.h"

#include <algorithm>
#include <optional>

#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

struct Part {
  int64_t axis, begin, end;
  Value gradient;
};

/// Returns the part of an axis that a slice gradient covers, if the slice has one axis and steps of 1.
std::optional<Part> part_of(Value term) {
  if (!term.producer() || !term.producer().is<ops::SliceGrad>()) return std::nullopt;
  const ops::SliceGrad slice(term.producer().node());
  const std::vector<int64_t>& steps = slice.steps();
  if (slice.starts().size() != 1 || std::ranges::any_of(steps, [](int64_t step) { return step != 1; }))
    return std::nullopt;
  const auto rank = static_cast<int64_t>(term.dims().size());
  const int64_t given = slice.axes().empty() ? 0 : slice.axes()[0], axis = given < 0 ? given + rank : given;
  const int64_t extent = term.dims()[static_cast<size_t>(axis)];
  if (extent == kUnknown) return std::nullopt;
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + extent : at, 0, extent); };
  return Part{axis, place(slice.starts()[0]), place(slice.ends()[0]), slice.out_grad()};
}

}  // namespace

Value joined_slices(Builder& builder, Value value, const std::vector<Value>& terms) {
  std::vector<Part> parts;
  for (const Value term : terms) {
    const auto part = part_of(term);
    if (!part || (!parts.empty() && part->axis != parts[0].axis)) return {};
    parts.push_back(*part);
  }
  std::ranges::sort(parts, {}, &Part::begin);
  int64_t end = 0;
  std::vector<Value> gradients;
  for (const Part& part : parts) {
    if (part.begin != end || part.end <= part.begin) return {};
    end = part.end;
    gradients.push_back(part.gradient);
  }
  if (end != value.dims()[static_cast<size_t>(parts[0].axis)]) return {};
  builder.at(terms[0].producer().location());
  return ops::concat(builder, {.x = gradients, .axis = parts[0].axis, .name = value.name() + ".grad"}).out();
}

}  // namespace halfstep::passes
