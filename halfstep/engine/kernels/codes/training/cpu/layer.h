// quantized_conv2d and quantized_linear on the accumulators of a library: what all candidates share.
//
// Phase 0 derives each channel's numbers and packs the weights, since training moves both at every step. The pieces of
// phase 1 are cut by shape, images first and then output channels: each accumulates a tile, adds the bias, requantizes
// and stores. Phase 2 joins the extremes of their accumulators.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/common/conv_geometry.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels::training {

/// A matrix product is a 1x1 convolution of 1x1 images.
struct Layer {
  explicit Layer(const Problem& problem);

  bool linear = false;
  ConvGeometry geometry{};
  DType x = DType::u8, out = DType::u8;  ///< codes
  int32_t largest_weight = 128;          ///< magnitude
  RequantizeRule rule;

  int64_t pixels() const { return geometry.out_plane(); }
  /// Whether an operand has no elements: oneDNN has no products of those.
  bool is_empty() const { return geometry.n * geometry.x_image() == 0 || geometry.weights() == 0; }
  arith::EngineLayer engine_layer() const {
    if (linear) return {};
    return arith::EngineLayer::convolution(geometry.groups, geometry.c / geometry.groups, geometry.o);
  }
  /// Input channels that so many outputs read: those of their groups, or all.
  int64_t channels_of(int64_t outputs) const {
    return geometry.groups > 1 ? outputs / geometry.group_out() * geometry.group_in() : geometry.c;
  }
};

/// A range of images and output channels. Where there are groups the channels are those of whole groups.
struct Piece {
  int64_t image = 0, images = 0;
  int64_t output = 0, outputs = 0;

  /// The first element of x that the piece reads.
  int64_t first_input(const Layer& layer) const {
    const int64_t channel = layer.geometry.groups > 1 ? layer.channels_of(output) : 0;
    return image * layer.geometry.x_image() + channel * layer.geometry.x_plane();
  }
};

/// How a layer is cut. Equal pieces but for the last image part and the last output part.
struct Cut {
  explicit Cut(const Layer& layer);
  /// Of so many images, with all their outputs.
  Cut(const Layer& layer, int64_t images_of_piece);

  int64_t images = 1, outputs = 1;  ///< of a piece, at most
  int64_t image_parts = 1, output_parts = 1;
  int64_t pieces() const { return image_parts * output_parts; }
  Piece piece(int64_t index) const;

 private:
  int64_t all_images_, all_outputs_;
};

/// Memory that a candidate shares among its pieces, or gives to each.
struct Workspace {
  std::byte* shared = nullptr;
  std::byte* worker = nullptr;
};

struct AccumulateCall {
  const void* x = nullptr;
  const int8_t* weights = nullptr;
  int32_t x_zero_point = 0;
};

/// A way to accumulate. Tiles are int32 [image][output][pixel], or [image][pixel][output] where channels_last(),
/// (matrix product: [image][output]) without bias, modulo 2^32.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual size_t shared_bytes() const = 0;
  virtual size_t worker_bytes() const = 0;
  /// Brings the weights into the form that `accumulate` wants.
  virtual Status pack(const int8_t* weights, const Workspace& workspace) const = 0;
  /// sum x * w with padding of x_zero_point codes where raw_codes(), else sum (x - x_zero_point) * w.
  virtual Status accumulate(const AccumulateCall& call, int64_t piece, const Workspace& workspace,
                            int32_t* tile) const = 0;
  virtual bool raw_codes() const = 0;
  virtual bool channels_last() const = 0;
};

/// The Plan of a layer with the given way to accumulate; it runs with run_layer.
Plan prepare_layer(const Problem& problem, const Layer& layer, const Cut& cut,
                   std::unique_ptr<const Accumulator> accumulator);
Status run_layer(const Call& call, int phase, int64_t piece);

}  // namespace halfstep::kernels::training
