#include "halfstep/fuzz/networks/spatial_windows.h"

#include <algorithm>

#include "halfstep/core/base/divide.h"

namespace halfstep::fuzz {
namespace {

int64_t dilated_kernel(const Window& window, size_t axis) {
  return (window.kernel[axis] - 1) * window.dilation[axis] + 1;
}

/// Result extent by ONNX's rules. ceil_mode does not count a window that starts after the input and its leading
/// padding.
int64_t out_extent(const Window& window, size_t axis, int64_t extent) {
  const size_t rank = window.kernel.size();
  const int64_t stride = window.stride[axis];
  if (window.auto_pad.starts_with("SAME")) return ceil_div(extent, stride);
  const bool padded = window.auto_pad == "NOTSET";
  const int64_t before = padded ? window.pads[axis] : 0, after = padded ? window.pads[rank + axis] : 0;
  const int64_t room = extent + before + after - dilated_kernel(window, axis);
  if (room < 0) return 0;
  int64_t out = (window.ceil ? ceil_div(room, stride) : room / stride) + 1;
  if (window.ceil && (out - 1) * stride >= extent + before) --out;
  return out;
}

void make_even(Window& window) {
  const auto [least, most] = std::ranges::minmax(window.kernel);
  if (least != most) window.auto_pad = "NOTSET";
  for (int64_t& pad : window.pads) pad = std::min(pad, least - 1);
}

}  // namespace

Window some_window(Maker& maker, const Dims& spatial, const WindowRules& rules) {
  Window window;
  const size_t rank = spatial.size();
  window.pads.assign(2 * rank, 0);
  const bool pads = maker.chance(0.5), dilates = rules.dilates && maker.chance(0.2), strides = maker.chance(0.4);
  for (size_t axis = 0; axis < rank; ++axis) {
    window.kernel.push_back(maker.between(1, rules.largest));
    window.stride.push_back(strides ? maker.between(1, 3) : 1);
    window.dilation.push_back(dilates ? maker.between(1, 2) : 1);
    const int64_t most = rules.pads_below_kernel ? window.kernel[axis] - 1 : window.kernel[axis];
    if (!pads) continue;
    window.pads[axis] = maker.between(0, most);
    window.pads[rank + axis] = maker.chance(0.6) ? window.pads[axis] : maker.between(0, most);
  }
  if (maker.chance(0.15)) {
    window.auto_pad = maker.one_of<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"});
    bool skips = false;
    for (size_t axis = 0; axis < rank; ++axis) skips |= window.stride[axis] > window.kernel[axis] + 1;
    // Runtimes disagree about these.
    if ((dilates || skips) && window.auto_pad != "VALID") window.auto_pad = "NOTSET";
  }
  if (rules.even) make_even(window);
  window.ceil = rules.ceils && maker.chance(0.3);
  for (size_t axis = 0; axis < rank; ++axis) {
    window.out.push_back(out_extent(window, axis, spatial[axis]));
    maker.require(window.out.back() >= 1);
  }
  return window;
}

Attributes Window::attributes(Maker& maker, bool with_kernel) const {
  Attributes said;
  const auto all = [](const Dims& values, int64_t value) {
    return std::ranges::all_of(values, [&](int64_t v) { return v == value; });
  };
  if (with_kernel) said["kernel_shape"] = kernel;
  if (!all(stride, 1) || maker.chance(0.3)) said["strides"] = stride;
  if (!all(dilation, 1)) said["dilations"] = dilation;
  if (auto_pad != "NOTSET") {
    said["auto_pad"] = auto_pad;
  } else if (!all(pads, 0) || maker.chance(0.3)) {
    said["pads"] = pads;
  }
  if (ceil) said["ceil_mode"] = int64_t{1};
  return said;
}

}  // namespace halfstep::fuzz
