// Windows of convolutions and pools over spatial axes, in all forms that ONNX has for them.
#pragma once

#include "halfstep/fuzz/networks/maker.h"

namespace halfstep::fuzz {

struct Window {
  Dims kernel, stride, dilation, pads;
  std::string auto_pad = "NOTSET";
  bool ceil = false;
  Dims out;  ///< spatial extents of the result

  /// What a node says, leaving out what need not be said (mostly).
  Attributes attributes(Maker& maker, bool with_kernel) const;
};

struct WindowRules {
  bool dilates = true, ceils = false;
  bool pads_below_kernel = false;  ///< each pad is smaller than the window, as pools ask for
  bool even = false;               ///< as pools on codes ask for: pads are smaller than the window's shortest side
  int64_t largest = 3;
};

/// A window over `spatial` whose result is not empty, or Unsuited.
Window some_window(Maker& maker, const Dims& spatial, const WindowRules& rules);

}  // namespace halfstep::fuzz
