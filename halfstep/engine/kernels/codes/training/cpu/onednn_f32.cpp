// Codes as integers in float32, with oneDNN's f32 products. Exact on every level, because partial sums stay below 2^24.
#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/codes/training/cpu/products.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace training {
namespace {

size_t floats(int64_t count) { return aligned(static_cast<size_t>(count) * sizeof(float)); }

/// Input channels whose products sum up below 2^24 in magnitude, in any order. A difference of u8 codes is at most 255.
/// A difference of u16 codes is split into a low byte, at most 255, and a high one, at most 256 in magnitude.
int64_t exact_channels(const Layer& layer) {
  constexpr int64_t kLargestSum = (int64_t{1} << 24) - 1;
  const int64_t largest_code = is_wide(layer.x) ? 256 : 255;
  return kLargestSum / (largest_code * layer.largest_weight) / layer.geometry.taps();
}

/// Channels of a slice. There are as many slices as the bound requires, of nearly equal size and whole vectors if
/// possible.
int64_t slice_channels(const Layer& layer) {
  constexpr int64_t kVector = 16;
  const int64_t all = layer.geometry.group_in();
  const int64_t most = exact_channels(layer);
  const int64_t slices = ceil_div(all, most);
  const int64_t even = ceil_div(all, slices);
  const int64_t vectors = round_up(even, kVector);
  return std::min(all, vectors <= most ? vectors : even);
}

/// Converts a piece's x - x_zero_point to floats (u16: low and high bytes). The library's padding with 0 is then
/// correct.
class FloatAccumulator final : public Accumulator {
 public:
  FloatAccumulator(const Layer& layer, const Cut& cut, CpuLevel level)
      : layer_(layer), cut_(cut), rows_(row_functions(level)), products_(layer, cut, spec_of()) {}

  size_t shared_bytes() const override { return floats(layer_.geometry.weights()) + products_.packed_bytes(); }
  size_t worker_bytes() const override {
    return (is_wide(layer_.x) ? 2 : 1) * floats(piece_inputs()) + floats(piece_results()) + products_.scratch();
  }
  bool raw_codes() const override { return false; }
  bool channels_last() const override { return false; }

  Status pack(const int8_t* weights, const Workspace& workspace) const override {
    auto* plain = reinterpret_cast<float*>(workspace.shared);
    for (int64_t i = 0; i < layer_.geometry.weights(); ++i) plain[i] = static_cast<float>(weights[i]);
    return products_.pack(plain, packed(workspace), scratch(workspace));
  }

  Status accumulate(const AccumulateCall& call, int64_t piece, const Workspace& workspace,
                    int32_t* tile) const override {
    const Piece part = cut_.piece(piece);
    convert(call, part, workspace);
    const int64_t size = part.images * part.outputs * layer_.pixels();
    float* sums = results(workspace);
    bool first = true;
    for (int64_t slice = 0; slice < products_.slices(); ++slice) {
      for (const int shift : {0, 8}) {
        if (shift != 0 && !is_wide(layer_.x)) break;
        const float* x = shift == 0 ? low(workspace) : high(workspace);
        Status status =
            products_.multiply(piece, slice, x, workspace.shared, packed(workspace), sums, scratch(workspace));
        if (!status.ok()) return status;
        rows_.add_whole(sums, size, shift, first, tile);
        first = false;
      }
    }
    return {};
  }

 private:
  int64_t copied_image() const { return layer_.channels_of(cut_.outputs) * layer_.geometry.x_plane(); }
  int64_t piece_inputs() const { return cut_.images * copied_image(); }
  int64_t piece_results() const { return cut_.images * cut_.outputs * layer_.pixels(); }

  std::byte* packed(const Workspace& workspace) const { return workspace.shared + floats(layer_.geometry.weights()); }
  float* low(const Workspace& workspace) const { return reinterpret_cast<float*>(workspace.worker); }
  float* high(const Workspace& workspace) const {
    return reinterpret_cast<float*>(workspace.worker + floats(piece_inputs()));
  }
  float* results(const Workspace& workspace) const {
    return reinterpret_cast<float*>(workspace.worker + (is_wide(layer_.x) ? 2 : 1) * floats(piece_inputs()));
  }
  std::byte* scratch(const Workspace& workspace) const {
    return reinterpret_cast<std::byte*>(results(workspace)) + floats(piece_results());
  }

  ProductSpec spec_of() const {
    ProductSpec spec;
    spec.x = spec.weights = spec.out = DType::f32;
    spec.height = layer_.geometry.h;
    spec.width = layer_.geometry.w;
    spec.pad = layer_.geometry.pad;
    spec.x_image = copied_image();
    spec.slice_channels = slice_channels(layer_);
    return spec;
  }

  void convert(const AccumulateCall& call, const Piece& part, const Workspace& workspace) const {
    const int64_t count = layer_.channels_of(part.outputs) * layer_.geometry.x_plane();
    for (int64_t n = 0; n < part.images; ++n) {
      const int64_t from = part.first_input(layer_) + n * layer_.geometry.x_image();
      const int64_t to = n * copied_image();
      if (is_wide(layer_.x)) {
        rows_.split(layer_.x, static_cast<const uint16_t*>(call.x) + from, count, call.x_zero_point,
                    low(workspace) + to, high(workspace) + to);
      } else {
        rows_.subtract(layer_.x, static_cast<const uint8_t*>(call.x) + from, count, call.x_zero_point,
                       low(workspace) + to);
      }
    }
  }

  Layer layer_;
  Cut cut_;
  const RowFunctions& rows_;
  Products products_;
};

Verdict accept_f32(const Problem& problem) {
  if (Verdict verdict = onednn::accept_level(problem); !verdict) return verdict;
  const Layer layer(problem);
  if (layer.is_empty()) return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  const int64_t most = exact_channels(layer);
  if (most == 0)
    return refuse(errors::kernel_sum_too_large(fmt::format("{} products of a channel", layer.geometry.taps()), "2^24"));
  if (layer.geometry.groups > 1 && layer.geometry.group_in() > most)
    return refuse(errors::kernel_sum_too_large(fmt::format("{} products of a group", layer.geometry.filter()), "2^24"));
  return accept();
}

Plan prepare_f32(const Problem& problem) {
  const Layer layer(problem);
  const Cut cut(layer);
  return prepare_layer(problem, layer, cut, std::make_unique<FloatAccumulator>(layer, cut, problem.level));
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_conv2d_onednn_f32{"onednn_f32", training::accept_f32, training::prepare_f32,
                                                    training::run_layer};
extern const Kernel cpu_quantized_linear_onednn_f32{"onednn_f32", training::accept_f32, training::prepare_f32,
                                                    training::run_layer};

}  // namespace halfstep::kernels
