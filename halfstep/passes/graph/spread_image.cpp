#include "halfstep/passes/graph/spread_image.h"

#include <algorithm>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {
namespace {

using Ints = std::vector<int64_t>;

/// Whether the pad puts `count` values behind each element of every axis in `axes`.
bool pads_behind(const ops::Pad& pad, const Ints& axes) {
  const Ints& pads = pad.pads();
  const auto half = static_cast<std::ptrdiff_t>(axes.size());
  return pad.mode() == "constant" && pad.axes() == axes && std::ssize(pads) == 2 * half &&
         std::all_of(pads.begin(), pads.begin() + half, [](int64_t n) { return n == 0; });
}

}  // namespace

std::optional<SpreadImage> spread_image(const Model& model, Value x, double zero) {
  const auto reshape = x.producer<ops::Reshape>();
  const auto pad = reshape ? reshape->x().producer<ops::Pad>() : std::nullopt;
  const auto apart = pad ? pad->x().producer<ops::Unsqueeze>() : std::nullopt;
  if (!apart || apart->x().dims().size() != 4 || !pads_behind(*pad, apart->axes())) return std::nullopt;
  const Dims &from = apart->x().dims(), &to = x.dims();
  if (to.size() != 4 || to[1] != from[1] ||
      std::ranges::any_of(from.begin() + 1, from.end(), [](int64_t n) { return n <= 0; }))
    return std::nullopt;
  const SpreadImage spread{apart->x(), {to[2] / from[2], to[3] / from[3]}};
  Ints axes, after;
  for (size_t i = 0; i < 2; ++i) {
    if (spread.strides[i] == 1) continue;
    axes.push_back(static_cast<int64_t>(i + 3 + axes.size()));
    after.push_back(spread.strides[i] - 1);
  }
  const bool fits =
      apart->axes() == axes && std::equal(after.begin(), after.end(), pad->pads().begin() + std::ssize(axes));
  const Value fill = pad->value();
  if (!fits || (fill && !fill.is_tensor())) return std::nullopt;
  const double filled = fill ? element(model.tensors.at(fill.name()), 0) : 0;
  return filled == zero ? std::optional(spread) : std::nullopt;
}

}  // namespace halfstep::passes
