// Windows of convolutions and pools over spatial axes, in all forms that ONNX has.
#pragma once

#include "halfstep/fuzz/networks/maker.h"

namespace halfstep::fuzz {

struct Window {
  Dims kernel, stride, dilation, pads;
  std::string auto_pad = "NOTSET";
  bool ceil = false;
  Dims out;  ///< spatial extents of the result

  /// The attributes of a node. Defaults are mostly left out.
  Attributes attributes(Maker& maker, bool with_kernel) const;
};

struct WindowRules {
  bool dilates = true, ceils = false;
  bool pads_below_kernel = false;  ///< each pad must be smaller than the window, as pools require
  bool even = false;               ///< pads must be smaller than the window's shortest side, as pools on codes require
  int64_t largest = 3;
};

/// A window over `spatial` with a result that has elements. Throws Unsuited if there is none.
Window some_window(Maker& maker, const Dims& spatial, const WindowRules& rules);

}  // namespace halfstep::fuzz
