// Wrapper of oneDNN. No other file includes its headers, so that differences between its versions stay in onednn.cpp.
//
// All calls run only on the calling thread, with strict float arithmetic and direct or GEMM algorithms. Winograd is
// never used, because its transforms are not exact. A piece of work is described once, when a Program is compiled, and
// may then run on any number of threads at a time.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/common/conv_geometry.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels::onednn {

/// Whether oneDNN can run at the Problem's level. Its level can be set only once in a process, before its first
/// primitive. Halfstep sets it to cpu_level() and refuses Problems of any other level, and of level scalar.
Verdict accept_level(const Problem& problem);
/// Like accept_level. Also requires that every operand and result is f32 and has elements, and that any order of sums
/// is allowed.
Verdict accept_f32(const Problem& problem);

/// A convolution pass over dense NCHW tensors or over slices of their images and channels. oneDNN's fast kernels use
/// their own layouts, blocked by channels. Each call converts x and out to and from them, in worker scratch near the
/// core. At 8x8 to 32x32 pixels this costs 5 to 20 %, while computing on plain NCHW takes 3 to 4 times as long. Weights
/// are packed beforehand.
class Convolution {
 public:
  using Pass = ConvPass;

  struct Spec {
    Pass pass = Pass::forward;
    ConvGeometry geometry;           ///< geometry of the slice
    int64_t x_image = 0;             ///< elements from image to image of x. The slice's channels are contiguous
    int64_t out_image = 0;           ///< elements from image to image of out
    int64_t filter = 0;              ///< elements from output channel to output channel of the weights
    bool x_channels_last = false;    ///< x is channels-last, and the slice has all of its channels
    bool out_channels_last = false;  ///< out is channels-last, and the slice has all of its channels
    bool bias = false;               ///< f32 [o], added by forward
    DType x = DType::f32;            ///< f32, or u8 or i8 for forward
    DType weights = DType::f32;      ///< f32, or i8
    DType out = DType::f32;          ///< f32, or i32
  };

  Convolution() = default;
  /// Builds the primitives. Throws Error if oneDNN has none.
  explicit Convolution(const Spec& spec);

  /// Bytes that `pack` writes, or 0 if the primitive reads the plain weights.
  size_t packed_bytes() const;
  /// Bytes of worker scratch that each of the calls below needs.
  size_t scratch() const;

  /// Converts the weights of the slice to the primitive's layout.
  Status pack(const void* weights, void* packed, std::byte* scratch) const;
  /// `weights` are packed, or plain if packed_bytes() is 0.
  Status forward(const void* x, const void* weights, const float* bias, void* out, std::byte* scratch) const;
  Status grad_x(const void* out_grad, const void* weights, void* x_grad, std::byte* scratch) const;
  /// Writes plain weights.
  Status grad_w(const void* x, const void* out_grad, void* weights_grad, std::byte* scratch) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// c = a * b (+ bias on every row). Each operand is a slice of a matrix, described by its strides.
class Matmul {
 public:
  struct Spec {
    int64_t m = 0, n = 0, k = 0;
    int64_t a_row = 0, a_column = 1;  ///< elements from row to row and column to column of a[m, k]
    int64_t b_row = 0, b_column = 1;  ///< strides of b[k, n]
    int64_t c_row = 0;                ///< row stride of c[m, n], whose rows are contiguous
    bool bias = false;                ///< f32 [n]
    bool pack_b = false;              ///< b is constant and packed beforehand
    DType a = DType::f32;             ///< f32, or u8 or i8
    DType b = DType::f32;             ///< f32, or i8
    DType c = DType::f32;             ///< f32, or i32
  };

  Matmul() = default;
  explicit Matmul(const Spec& spec);

  /// Bytes that `pack` writes, or 0 if the primitive reads b directly.
  size_t packed_bytes() const;
  /// Bytes of worker scratch that each of the calls below needs.
  size_t scratch() const;

  Status pack(const void* b, void* packed, std::byte* scratch) const;
  Status multiply(const void* a, const void* b, const float* bias, void* c, std::byte* scratch) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

}  // namespace halfstep::kernels::onednn
