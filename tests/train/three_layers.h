// A float network that trains in no time.
#pragma once

#include "halfstep/ir/parse.h"
#include "halfstep/train/network.h"

namespace halfstep::train {

inline Model float_network() {
  return initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @u: f32[16, 8]\n  param @w: f32[16, 16]\n  param @v: f32[4, "
            "16]\n  a = linear(x, w=@u)\n  r = relu(a)\n  b = linear(r, w=@w)\n  c = linear(b, w=@v)\n  "
            "return c\n}\n",
            "g.ir"),
      3);
}

}  // namespace halfstep::train
