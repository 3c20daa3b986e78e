#include "halfstep/passes/graph/spatial_axes.h"

#include <algorithm>

#include "halfstep/core/base/divide.h"

namespace halfstep::passes {
namespace {

int64_t at(const std::vector<int64_t>& list, size_t place, int64_t otherwise) {
  return list.empty() ? otherwise : list[place];
}

/// Whether there are spatial axes, and none of them is empty.
bool has_axes(const Dims& dims) {
  return dims.size() > 2 && std::ranges::none_of(dims.begin() + 2, dims.end(), [](int64_t e) { return e == 0; });
}

/// `is_exact`: whether no window needs elements behind the padding, for all extents.
template <class Layer>
std::optional<SpatialAxes> axes_over(const Layer& layer, std::span<const int64_t> kernel, bool is_exact) {
  const Dims &x = layer.x().dims(), &out = layer.out().dims();
  if (!has_axes(x) || !has_axes(out)) return std::nullopt;
  const size_t rank = x.size() - 2;
  SpatialAxes axes(rank);
  for (size_t i = 0; i < rank; ++i) {
    SpatialAxis& axis = axes[i];
    axis = {kernel[i], at(layer.stride(), i, 1), at(layer.dilation(), i, 1)};
    const int64_t extent = x[i + 2], windows = out[i + 2];
    if (extent == kUnknown || windows == kUnknown) {
      if (layer.auto_pad().starts_with("same") || !is_exact) return std::nullopt;
      axis.padding = {at(layer.pad(), i, 0), at(layer.pad(), i + rank, 0)};
      continue;
    }
    if (layer.auto_pad().starts_with("same")) {
      axis.padding = same_padding(extent, windows, axis.stride, axis.span(), layer.auto_pad() == "same_upper");
      continue;
    }
    axis.padding.before = at(layer.pad(), i, 0);
    axis.padding.after = std::max(at(layer.pad(), i + rank, 0),
                                  (windows - 1) * axis.stride + axis.span() - extent - axis.padding.before);
  }
  return axes;
}

}  // namespace

std::optional<SpatialAxes> axes_of(const ops::Conv& conv) {
  return axes_over(conv, std::span(conv.w().dims()).subspan(2), true);
}
std::optional<SpatialAxes> axes_of(const ops::MaxPool& pool) {
  return axes_over(pool, pool.kernel(), !pool.ceil_mode());
}
std::optional<SpatialAxes> axes_of(const ops::AveragePool& pool) {
  return axes_over(pool, pool.kernel(), !pool.ceil_mode());
}

bool has_window_of_padding(const ops::MaxPool& pool) {
  const auto axes = axes_of(pool);
  if (!axes) return false;
  for (size_t i = 0; i < axes->size(); ++i) {
    const SpatialAxis& axis = (*axes)[i];
    const int64_t extent = pool.x().dims()[i + 2];
    for (int64_t window = 0; window < pool.out().dims()[i + 2]; ++window) {
      const int64_t begin = window * axis.stride - axis.padding.before;
      // The first element of the window at or behind the start of x.
      const int64_t skipped = begin < 0 ? ceil_div(-begin, axis.dilation) : 0;
      if (skipped >= axis.kernel || begin + skipped * axis.dilation >= extent) return true;
    }
  }
  return false;
}

std::vector<int64_t> strides_of(const ops::ConvTranspose& layer) {
  const size_t rank = layer.x().dims().size() - 2;
  return layer.stride().empty() ? std::vector<int64_t>(rank, 1) : layer.stride();
}

std::optional<SpatialAxes> axes_behind_zeros(const ops::ConvTranspose& layer) {
  const Dims &x = layer.x().dims(), &out = layer.out().dims(), &w = layer.w().dims();
  if (!has_axes(x) || !has_axes(out)) return std::nullopt;
  const bool is_same = layer.auto_pad().starts_with("same");
  const std::vector<int64_t> strides = strides_of(layer);
  SpatialAxes axes(strides.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    SpatialAxis& axis = axes[i];
    axis = {w[i + 2], 1, at(layer.dilation(), i, 1)};
    if (x[i + 2] == kUnknown || out[i + 2] == kUnknown) {
      if (is_same || !layer.output_shape().empty()) return std::nullopt;
      const int64_t around = axis.span() - 1;
      axis.padding = {around - at(layer.pad(), i, 0),
                      around - at(layer.pad(), i + axes.size(), 0) + at(layer.output_padding(), i, 0)};
      continue;
    }
    const int64_t filled = (x[i + 2] - 1) * strides[i] + 1;
    int64_t removed = at(layer.pad(), i, 0);
    if (is_same || !layer.output_shape().empty()) {
      const int64_t surplus = filled + axis.span() - 1 + at(layer.output_padding(), i, 0) - out[i + 2];
      removed = shared_padding(std::max<int64_t>(0, surplus), layer.auto_pad() == "same_upper").before;
    }
    axis.padding.before = axis.span() - 1 - removed;
    axis.padding.after = out[i + 2] - 1 + axis.span() - filled - axis.padding.before;
  }
  return axes;
}

}  // namespace halfstep::passes
