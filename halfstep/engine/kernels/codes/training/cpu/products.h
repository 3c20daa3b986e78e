// The library calls of a layer's pieces.
#pragma once

#include <vector>

#include "halfstep/engine/kernels/codes/training/cpu/layer.h"
#include "halfstep/engine/kernels/common/onednn.h"

namespace halfstep::kernels::training {

/// Description of a library call.
struct ProductSpec {
  DType x = DType::u8, weights = DType::i8, out = DType::i32;
  /// Planes of the input of `multiply`, and the margins of zeros around them.
  int64_t height = 1, width = 1;
  std::array<int64_t, 4> pad = {0, 0, 0, 0};
  int64_t x_image = 1;  ///< elements from image to image of that input
  /// Whether the input and the results are channels-last. Only without groups.
  bool x_channels_last = false, out_channels_last = false;
  int64_t slice_channels = 1;  ///< input channels of a group that one product sums over. With groups, it is all of them
};

/// One convolution or matrix product for every piece and every slice of the input channels. The last image part, the
/// last output part and the last slice may be smaller than the others.
class Products {
 public:
  Products(const Layer& layer, const Cut& cut, const ProductSpec& spec);

  int64_t slices() const { return slices_; }
  size_t packed_bytes() const { return packed_bytes_; }
  size_t scratch() const { return scratch_; }

  /// Packs the layer's weights for all pieces. They have the spec's type.
  Status pack(const void* weights, std::byte* packed, std::byte* scratch) const;
  /// The product of a piece and a slice. `x` is the first element of the piece's first image and first channel. `tile`
  /// is [image][output][pixel] of the spec's type, or [image][pixel][output].
  Status multiply(int64_t piece, int64_t slice, const void* x, const void* weights, const std::byte* packed, void* tile,
                  std::byte* scratch) const;

 private:
  struct Job {
    onednn::Convolution convolution;
    onednn::Matmul matmul;
    size_t weights = 0;       ///< bytes from the layer's first weight
    size_t packed = 0;        ///< bytes from the start of the packed weights
    size_t packed_bytes = 0;  ///< 0: reads the weights without packing
  };
  Job make_job(int64_t images, int64_t output_part, int64_t slice) const;
  onednn::Convolution make_convolution(int64_t images, int64_t outputs, int64_t channels) const;
  onednn::Matmul make_matmul(int64_t images, int64_t outputs, int64_t channels) const;

  Layer layer_;
  Cut cut_;
  ProductSpec spec_;
  int64_t slices_ = 1;
  std::vector<Job> jobs_;  ///< [0: full image parts, 1: the last one][output part][slice]
  size_t packed_bytes_ = 0, scratch_ = 0;
};

}  // namespace halfstep::kernels::training
