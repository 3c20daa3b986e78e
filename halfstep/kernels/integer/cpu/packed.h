// Weights, biases and steps of a layer in the order in which they are used.
#pragma once

#include "halfstep/kernels/integer/cpu/tiling.h"
#include "halfstep/kernels/integer/step.h"

namespace halfstep::kernels::integer {

/// A channel's way from accumulator to code.
struct ChannelStep {
  int32_t bias = 0;                ///< with what the zero point and code_offset add
  arith::Requantizer requantizer;  ///< with multipliers as large as they can be made
};

/// Where a layer's packed parts lie: weights [group][block][row / row_tile][output][row % row_tile] of units, then
/// steps [group][block][output]. Absent outputs of the last block have zero weights and no steps.
struct Packing {
  Packing(const Layer& layer, const Tiling& tiling, const Engine& engine);

  size_t bytes() const {
    return step_offset_ + static_cast<size_t>(groups_ * blocks_ * block_outputs_) * sizeof(ChannelStep);
  }
  const std::byte* weights(const std::byte* packed, int64_t group, int64_t block) const {
    return packed + static_cast<size_t>(group * blocks_ + block) * block_bytes_;
  }
  const ChannelStep* steps(const std::byte* packed, int64_t group, int64_t block) const {
    return reinterpret_cast<const ChannelStep*>(packed + step_offset_) + (group * blocks_ + block) * block_outputs_;
  }

 private:
  int64_t groups_, blocks_, block_outputs_;
  size_t block_bytes_, step_offset_;
};

/// Operands of a layer as the program stores them.
struct LayerParameters {
  const int8_t* weights = nullptr;
  const int32_t* bias = nullptr;  ///< null where an engine adds it
  StoredSteps steps;
};

/// Fills Packing::bytes at `packed`; an error where a step is illegal.
Status pack(const Layer& layer, const Tiling& tiling, const Engine& engine, const LayerParameters& parameters,
            std::byte* packed);

}  // namespace halfstep::kernels::integer
