// Maps elements to their parameters, and walks over them without a division for each element.
#pragma once

#include <cstdint>

#include "halfstep/core/base/host_device.h"
#include "halfstep/engine/kernels/common/channels.h"

namespace halfstep::kernels::cuda {

/// A tensor as runs of `run` elements, with `extent` runs for each index of the preceding axes. Parameters of element r
/// of run a at index o have the offset o * outer_step + a / block * block_step + r * run_step.
struct Layout {
  int64_t extent = 1, run = 1, block = 1;
  int64_t outer_step = 0, block_step = 0, run_step = 0;

  static Layout of(const Channels& channels) {
    Layout layout;
    layout.extent = channels.count;
    layout.run = channels.run;
    layout.block_step = channels.count == 1 ? 0 : 1;
    return layout;
  }

  /// Whether all elements have the parameters at 0.
  HS_HOST_DEVICE bool is_single() const { return outer_step == 0 && block_step == 0 && run_step == 0; }
  /// Whether each aligned group of `width` elements shares its parameters.
  HS_HOST_DEVICE bool is_even(int64_t width) const {
    if (run == 1) return extent % width == 0 && block % width == 0;
    return run_step == 0 && run % width == 0;
  }
};

/// An element of a tensor with the offset of its parameters.
class Cursor {
 public:
  HS_HOST_DEVICE Cursor(const Layout& layout, int64_t element) : layout_(layout) {
    const int64_t runs = element / layout.run;
    outer_ = runs / layout.extent;
    along_ = runs - outer_ * layout.extent;
    inside_ = element - runs * layout.run;
    const int64_t blocks = along_ / layout.block;
    in_block_ = along_ - blocks * layout.block;
    first_ = outer_ * layout.outer_step + blocks * layout.block_step;
  }

  HS_HOST_DEVICE int64_t parameters() const { return first_ + inside_ * layout_.run_step; }

  HS_HOST_DEVICE void advance() {
    if (++inside_ < layout_.run) return;
    inside_ = 0;
    if (++along_ == layout_.extent) {
      along_ = in_block_ = 0;
      first_ = ++outer_ * layout_.outer_step;
    } else if (++in_block_ == layout_.block) {
      in_block_ = 0;
      first_ += layout_.block_step;
    }
  }

 private:
  const Layout& layout_;
  int64_t outer_, along_, inside_, in_block_, first_;
};

}  // namespace halfstep::kernels::cuda
