// Scales and zero points of ONNX's operators on the device.
#pragma once

#include "halfstep/engine/kernels/common/cuda/map.cuh"
#include "halfstep/engine/kernels/common/numbers.h"
#include "halfstep/engine/kernels/quantizers/onnx/parameters.h"

namespace halfstep::kernels::onnx {

inline cuda::Layout layout_of(const Spread& spread) {
  return {spread.extent, spread.run, spread.block, spread.outer_step, spread.block_step, spread.run_step};
}

/// Scale and zero point of one element.
struct ScalePair {
  float scale = 1.0F;
  int32_t zero_point = 0;
};

/// Scales and zero points of a tensor. `Code` is the storage type of the zero points.
template <class Code>
struct ScaleList {
  Numbers scales;
  const Code* zero_points;  ///< nullptr if they are 0 or not read

  HS_HOST_DEVICE ScalePair at(int64_t index) const {
    return {scales.at<float>(index), zero_points == nullptr ? 0 : static_cast<int32_t>(zero_points[index])};
  }
};

}  // namespace halfstep::kernels::onnx
