// Multiplies codes and weights unchanged with oneDNN's u8 or s8 x s8 -> s32. This is exact from VNNI on. Below, 16-bit
// sums saturate.
#include <algorithm>
#include <cstring>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/codes/training/cpu/products.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/common/codes.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace training {
namespace {

/// oneDNN pads with 0, which is not the zero point of an affine input. Pieces of a padded layer are therefore copied,
/// with margins of the zero point's code. The copy is channels-last where that is faster than oneDNN's own change of
/// layout.
class Int8Accumulator final : public Accumulator {
 public:
  Int8Accumulator(const Layer& layer, const Cut& cut, CpuLevel level)
      : layer_(layer),
        cut_(cut),
        rows_(row_functions(level)),
        padded_(is_padded(layer.geometry)),
        turned_(padded_ && layer.geometry.groups == 1 && layer.geometry.c % 16 == 0),
        products_(layer, cut, spec_of()) {}

  size_t shared_bytes() const override { return products_.packed_bytes(); }
  size_t worker_bytes() const override { return copy_bytes() + products_.scratch(); }
  bool raw_codes() const override { return true; }
  bool channels_last() const override { return !layer_.linear && layer_.geometry.groups == 1; }

  Status pack(const int8_t* weights, const Workspace& workspace) const override {
    return products_.pack(weights, workspace.shared, workspace.worker + copy_bytes());
  }

  Status accumulate(const AccumulateCall& call, int64_t piece, const Workspace& workspace,
                    int32_t* tile) const override {
    const Piece part = cut_.piece(piece);
    const auto* src = static_cast<const uint8_t*>(call.x) + part.first_input(layer_);
    auto* copy = reinterpret_cast<uint8_t*>(workspace.worker);
    if (padded_) {
      std::memset(copy, static_cast<uint8_t>(call.x_zero_point), static_cast<size_t>(part.images * copied_image()));
      turned_ ? copy_turned(src, part, copy) : copy_padded(src, part, copy);
    }
    return products_.multiply(piece, 0, padded_ ? copy : src, call.weights, workspace.shared, tile,
                              workspace.worker + copy_bytes());
  }

 private:
  static bool is_padded(const ConvGeometry& g) {
    return std::any_of(g.pad.begin(), g.pad.end(), [](int64_t pad) { return pad != 0; });
  }
  int64_t height() const { return layer_.geometry.h + layer_.geometry.pad[0] + layer_.geometry.pad[2]; }
  int64_t width() const { return layer_.geometry.w + layer_.geometry.pad[1] + layer_.geometry.pad[3]; }
  int64_t copied_image() const { return layer_.channels_of(cut_.outputs) * height() * width(); }
  size_t copy_bytes() const { return padded_ ? aligned(static_cast<size_t>(cut_.images * copied_image())) : 0; }

  ProductSpec spec_of() const {
    ProductSpec spec;
    spec.x = layer_.x;
    spec.height = height();
    spec.width = width();
    spec.x_image = padded_ ? copied_image() : layer_.geometry.x_image();
    spec.slice_channels = layer_.geometry.group_in();
    spec.x_channels_last = turned_;
    spec.out_channels_last = channels_last();
    return spec;
  }

  void copy_turned(const uint8_t* src, const Piece& part, uint8_t* copy) const {
    const ConvGeometry& g = layer_.geometry;
    for (int64_t n = 0; n < part.images; ++n)
      rows_.to_channels_last({.src = src + n * g.x_image(),
                              .channels = g.c,
                              .height = g.h,
                              .width = g.w,
                              .dst = copy + n * copied_image() + (g.pad[0] * width() + g.pad[1]) * g.c,
                              .line = width()});
  }

  void copy_padded(const uint8_t* src, const Piece& part, uint8_t* copy) const {
    const ConvGeometry& g = layer_.geometry;
    for (int64_t n = 0; n < part.images; ++n) {
      for (int64_t c = 0; c < layer_.channels_of(part.outputs); ++c) {
        const uint8_t* from = src + (n * g.c + c) * g.x_plane();
        uint8_t* to = copy + n * copied_image() + (c * height() + g.pad[0]) * width() + g.pad[1];
        for (int64_t y = 0; y < g.h; ++y) std::memcpy(to + y * width(), from + y * g.w, static_cast<size_t>(g.w));
      }
    }
  }

  Layer layer_;
  Cut cut_;
  const RowFunctions& rows_;
  bool padded_;
  bool turned_;  ///< copies are channels-last
  Products products_;
};

Verdict accept_int8(const Problem& problem) {
  if (problem.level < CpuLevel::vnni)
    return refuse(
        errors::kernel_is_for_other_levels(name(problem.level), "vnni or higher, where int8 in oneDNN is exact"));
  if (Verdict verdict = onednn::accept_level(problem); !verdict) return verdict;
  const Layer layer(problem);
  if (is_wide(layer.x)) return refuse(errors::kernel_takes_other_types("x", name(layer.x), "codes of one byte"));
  if (layer.is_empty()) return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  return accept();
}

Plan prepare_int8(const Problem& problem) {
  const Layer layer(problem);
  const Cut cut(layer);
  return prepare_layer(problem, layer, cut, std::make_unique<Int8Accumulator>(layer, cut, problem.level));
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_conv2d_onednn_int8{"onednn_int8", training::accept_int8, training::prepare_int8,
                                                     training::run_layer};
extern const Kernel cpu_quantized_linear_onednn_int8{"onednn_int8", training::accept_int8, training::prepare_int8,
                                                     training::run_layer};

}  // namespace halfstep::kernels
