#include "halfstep/kernels/integer/cpu/packed.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "halfstep/base/divide.h"

namespace halfstep::kernels::integer {
namespace {

constexpr size_t kLine = 64;

/// acc * m / 2^shift does not change when m and 2^shift grow alike, but what is rounded twice.
arith::Multiplier enlarged(arith::Multiplier step) {
  while (step.m < int32_t{1} << 30 && step.shift < arith::kMaxShift) {
    step.m *= 2;
    ++step.shift;
  }
  return step;
}

arith::Requantizer enlarged(const arith::Requantizer& requantizer) {
  const auto* scale = std::get_if<arith::FixedScale>(&requantizer);
  if (scale == nullptr || scale->rounding == arith::ShiftRounding::doubled) return requantizer;
  return arith::FixedScale{enlarged(scale->positive), enlarged(scale->negative), scale->rounding};
}

/// The weights of one output channel, [channel][tap].
struct OutputWeights {
  const Layer& layer;
  const int8_t* weights;

  int64_t taps() const { return layer.kernel[0] * layer.kernel[1]; }
  int32_t sum() const {
    int32_t total = 0;
    for (int64_t i = 0; i < layer.weights_of_output(); ++i) total += weights[i];
    return total;
  }
  /// Code k of the unit of a row of the patch matrix; 0 where the unit has none.
  int8_t at(const Tiling& tiling, const Engine& engine, int64_t row, int64_t k) const {
    const int64_t per_unit = engine.codes_per_unit;
    if (tiling.neighbours) {
      const int64_t units = ceil_div(layer.kernel[1], per_unit);
      const int64_t kx = row % units * per_unit + k;
      const int64_t ky = row / units;
      return ky < layer.kernel[0] && kx < layer.kernel[1] ? weights[ky * layer.kernel[1] + kx] : int8_t{0};
    }
    const int64_t channel = row % tiling.planes * per_unit + k;
    const int64_t tap = row / tiling.planes;
    return tap < taps() && channel < layer.channels ? weights[channel * taps() + tap] : int8_t{0};
  }
};

void pack_output(const OutputWeights& from, const Tiling& tiling, const Engine& engine, int64_t slot,
                 std::byte* block) {
  for (int64_t row = 0; row < tiling.rows; ++row) {
    const int64_t unit = (row / tiling.row_tile * engine.outputs + slot) * tiling.row_tile + row % tiling.row_tile;
    std::byte* dst = block + unit * 4;
    for (int64_t k = 0; k < engine.codes_per_unit; ++k) {
      const int8_t weight = from.at(tiling, engine, row, k);
      if (engine.codes_per_unit == 4) {
        std::memcpy(dst + k, &weight, 1);
      } else {
        const int16_t wide = weight;
        std::memcpy(dst + k * 2, &wide, 2);
      }
    }
  }
}

}  // namespace

Packing::Packing(const Layer& layer, const Tiling& tiling, const Engine& engine)
    : groups_(layer.groups), blocks_(tiling.blocks), block_outputs_(engine.outputs) {
  block_bytes_ = static_cast<size_t>(tiling.rows * block_outputs_) * 4;
  const size_t weights = block_bytes_ * static_cast<size_t>(groups_ * blocks_);
  step_offset_ = round_up(weights, kLine);
}

Status pack(const Layer& layer, const Tiling& tiling, const Engine& engine, const LayerParameters& parameters,
            std::byte* packed) {
  if (Status status = parameters.steps.check(layer.groups * layer.outputs); !status.ok()) return status;
  const Packing packing(layer, tiling, engine);
  std::memset(packed, 0, packing.bytes());
  // acc = sum (code - offset) * w + (offset - zero point) * sum w + b, all modulo 2^32.
  const auto shift = static_cast<uint32_t>(code_offset(engine, layer) - layer.x_zero_point);
  for (int64_t o = 0; o < layer.groups * layer.outputs; ++o) {
    const int64_t block = o % layer.outputs / engine.outputs;
    const int64_t slot = o % layer.outputs % engine.outputs;
    const int64_t group = o / layer.outputs;
    const OutputWeights from{layer, parameters.weights + o * layer.weights_of_output()};
    pack_output(from, tiling, engine, slot, const_cast<std::byte*>(packing.weights(packed, group, block)));
    auto& step = *std::construct_at(const_cast<ChannelStep*>(packing.steps(packed, group, block)) + slot);
    const int32_t bias = parameters.bias == nullptr ? 0 : parameters.bias[o];
    step.bias = static_cast<int32_t>(static_cast<uint32_t>(bias) + shift * static_cast<uint32_t>(from.sum()));
    step.requantizer = enlarged(parameters.steps.requantizer(o));
  }
  return {};
}

}  // namespace halfstep::kernels::integer
