// Windows of layers with all defaults and automatic padding resolved.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/core/base/padding.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

/// Window along one spatial axis. Padding may be negative, which removes elements.
struct SpatialAxis {
  int64_t kernel = 1, stride = 1, dilation = 1;
  AxisPadding padding = {};

  int64_t span() const { return (kernel - 1) * dilation + 1; }
  bool is_padded() const { return padding.before != 0 || padding.after != 0; }
};
using SpatialAxes = std::vector<SpatialAxis>;

/// Returns nothing if the padding depends on an extent that only a run knows. With ceil_mode the padding includes the
/// elements behind x that the last window reads.
std::optional<SpatialAxes> axes_of(const ops::Conv& conv);
std::optional<SpatialAxes> axes_of(const ops::MaxPool& pool);
std::optional<SpatialAxes> axes_of(const ops::AveragePool& pool);

/// Whether a window has no element of x. Its maximum is then the lowest number. False if a spatial extent is unknown.
bool has_window_of_padding(const ops::MaxPool& pool);

/// Axes of the convolution that computes `layer` from x with stride - 1 zeros between neighbours along each axis. Its
/// own stride is 1.
std::optional<SpatialAxes> axes_behind_zeros(const ops::ConvTranspose& layer);
/// Elements of x apart along each axis of the result.
std::vector<int64_t> strides_of(const ops::ConvTranspose& layer);

}  // namespace halfstep::passes
