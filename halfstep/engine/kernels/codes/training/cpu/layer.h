// quantized_conv2d and quantized_linear on the accumulators of a library: the common part of all candidates.
//
// Phase 0 derives each channel's parameters and packs the weights, because training changes both at every step. The
// pieces of phase 1 are cut by shape, first by images and then by output channels. Each accumulates a tile, adds the
// bias, requantizes and stores. Phase 2 joins the extremes of their accumulators.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/codes/rule.h"
#include "halfstep/engine/kernels/common/conv_geometry.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels::training {

/// A layer as a convolution. A matrix product is a 1x1 convolution of 1x1 images.
struct Layer {
  explicit Layer(const Problem& problem);

  bool linear = false;
  ConvGeometry geometry{};
  DType x = DType::u8, out = DType::u8;  ///< types of codes
  int32_t largest_weight = 128;          ///< largest magnitude of a weight
  RequantizeRule rule;

  int64_t pixels() const { return geometry.out_plane(); }
  /// Whether an operand has no elements. oneDNN does not support such products.
  bool is_empty() const { return geometry.n * geometry.x_image() == 0 || geometry.weights() == 0; }
  arith::EngineLayer engine_layer() const {
    if (linear) return {};
    return arith::EngineLayer::convolution(geometry.groups, geometry.c / geometry.groups, geometry.o);
  }
  /// Input channels that `outputs` output channels read: those of their groups, or all.
  int64_t channels_of(int64_t outputs) const {
    return geometry.groups > 1 ? outputs / geometry.group_out() * geometry.group_in() : geometry.c;
  }
};

/// A range of images and output channels. With groups, the channels are those of whole groups.
struct Piece {
  int64_t image = 0, images = 0;
  int64_t output = 0, outputs = 0;

  /// The first element of x that the piece reads.
  int64_t first_input(const Layer& layer) const {
    const int64_t channel = layer.geometry.groups > 1 ? layer.channels_of(output) : 0;
    return image * layer.geometry.x_image() + channel * layer.geometry.x_plane();
  }
};

/// The cut of a layer. Pieces are equal, except for the last image part and the last output part.
struct Cut {
  explicit Cut(const Layer& layer);
  /// Pieces of `images_of_piece` images with all their outputs.
  Cut(const Layer& layer, int64_t images_of_piece);

  int64_t images = 1, outputs = 1;  ///< limits of a piece
  int64_t image_parts = 1, output_parts = 1;
  int64_t pieces() const { return image_parts * output_parts; }
  Piece piece(int64_t index) const;

 private:
  int64_t all_images_, all_outputs_;
};

/// Memory of a candidate: shared by its pieces, and for each worker.
struct Workspace {
  std::byte* shared = nullptr;
  std::byte* worker = nullptr;
};

struct AccumulateCall {
  const void* x = nullptr;
  const int8_t* weights = nullptr;
  int32_t x_zero_point = 0;
};

/// A method to accumulate. Tiles are int32 [image][output][pixel], or [image][pixel][output] if channels_last(). Those
/// of a matrix product are [image][output]. Sums are without bias, modulo 2^32.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  virtual size_t shared_bytes() const = 0;
  virtual size_t worker_bytes() const = 0;
  /// Converts the weights to the form that `accumulate` needs.
  virtual Status pack(const int8_t* weights, const Workspace& workspace) const = 0;
  /// If raw_codes(): sum x * w, where the padding has the code x_zero_point. Otherwise sum (x - x_zero_point) * w.
  virtual Status accumulate(const AccumulateCall& call, int64_t piece, const Workspace& workspace,
                            int32_t* tile) const = 0;
  virtual bool raw_codes() const = 0;
  virtual bool channels_last() const = 0;
};

/// The Plan of a layer with this method to accumulate. Run it with run_layer.
Plan prepare_layer(const Problem& problem, const Layer& layer, const Cut& cut,
                   std::unique_ptr<const Accumulator> accumulator);
Status run_layer(const Call& call, int phase, int64_t piece);

}  // namespace halfstep::kernels::training
