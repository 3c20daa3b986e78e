// Cuts a convolution pass into pieces. Each piece is one single-threaded call of oneDNN.
#pragma once

#include "halfstep/engine/kernels/common/onednn.h"

namespace halfstep::kernels {

/// The cut depends only on the shape. It makes blocks of images. If these are few, it also makes parts: of the channels
/// that the pass writes, or of the groups if there are several. All blocks have the same number of images, except the
/// last (the tail), which may have fewer.
class ConvCut {
 public:
  using Pass = onednn::Convolution::Pass;

  ConvCut(Pass pass, const ConvGeometry& whole);

  int64_t blocks() const { return blocks_; }
  int64_t parts() const { return parts_; }
  int64_t pieces() const { return blocks_ * parts_; }
  bool has_tail() const { return whole_.n % images_ != 0; }
  /// Number of weights of a part.
  int64_t part_weights() const { return whole_.weights() / parts_; }

  onednn::Convolution::Spec spec(bool tail, bool bias) const;

  /// Offsets of a piece in each tensor, in elements. The step between images is that of the whole tensor.
  struct Place {
    int64_t block, part;
    bool tail;
    int64_t images;
    int64_t x, out, weights;
    int64_t bias;  ///< first channel of the tensor that the pass writes
  };
  Place place(int64_t piece) const;
  /// Offset of a part in the weights.
  int64_t weights_of(int64_t part) const;
  /// Channels of out and of x in a part.
  int64_t part_out() const;
  int64_t part_in() const;

 private:
  Pass pass_;
  ConvGeometry whole_;
  int64_t images_ = 1, blocks_ = 1, parts_ = 1;
};

}  // namespace halfstep::kernels
