// oneDNN behind functions of our own: nothing else includes its headers, so that what differs between its versions
// stays in onednn.cpp.
//
// All calls run on the calling thread alone, with strict float arithmetic and direct or GEMM algorithms (never
// Winograd, whose transforms are not exact). A piece of work is described once, when a Program is compiled, and may
// then run on any number of threads at a time.
#pragma once

#include <memory>

#include "halfstep/engine/kernels/common/conv_geometry.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels::onednn {

/// Whether oneDNN may serve the Problem's level. It can be capped only once a process, before its first primitive: it
/// is capped at cpu_level(), and Problems of any other level are refused, as are those of level scalar.
Verdict accept_level(const Problem& problem);
/// accept_level, every operand and result is f32 and has elements, and any order of the sums will do.
Verdict accept_f32(const Problem& problem);

/// A convolution pass over dense NCHW tensors or over slices of their images and channels. oneDNN's fast kernels read
/// and write layouts of their own, blocked by channels: x and out are brought there and back within each call (in
/// worker scratch, near the core), which at 8x8 to 32x32 pixels costs 5 to 20 % where computing on plain NCHW costs a
/// factor of 3 to 4. Weights are packed beforehand.
class Convolution {
 public:
  enum class Pass { forward, grad_x, grad_w };

  struct Spec {
    Pass pass = Pass::forward;
    ConvGeometry geometry;         ///< of the slice
    int64_t x_image = 0;           ///< elements from image to image of x; the slice's channels are contiguous
    int64_t out_image = 0;         ///< elements from image to image of out
    int64_t filter = 0;            ///< elements from output channel to output channel of the weights
    bool x_channels_last = false;  ///< pixels of x are next to each other with all channels of the slice, which are x's
    bool out_channels_last = false;  ///< the same of out
    bool bias = false;               ///< f32 [o], added by forward
    DType x = DType::f32;            ///< f32, or u8 or i8 for forward
    DType weights = DType::f32;      ///< f32, or i8
    DType out = DType::f32;          ///< f32, or i32
  };

  Convolution() = default;
  /// Builds the primitives; throws Error where oneDNN knows none.
  explicit Convolution(const Spec& spec);

  /// Bytes that `pack` writes; 0 where the primitive reads the plain weights.
  size_t packed_bytes() const;
  /// Bytes of worker scratch that each of the calls below needs.
  size_t scratch() const;

  /// Brings the weights of the slice into the primitive's layout.
  Status pack(const void* weights, void* packed, std::byte* scratch) const;
  /// `weights` packed, or plain where packed_bytes() is 0.
  Status forward(const void* x, const void* weights, const float* bias, void* out, std::byte* scratch) const;
  Status grad_x(const void* out_grad, const void* weights, void* x_grad, std::byte* scratch) const;
  /// Writes plain weights.
  Status grad_w(const void* x, const void* out_grad, void* weights_grad, std::byte* scratch) const;

 private:
  struct Parts;
  std::shared_ptr<const Parts> parts_;
};

/// c = a * b (+ bias on every row), each operand a slice of a matrix given by its strides.
class Matmul {
 public:
  struct Spec {
    int64_t m = 0, n = 0, k = 0;
    int64_t a_row = 0, a_column = 1;  ///< elements from row to row and column to column of a[m, k]
    int64_t b_row = 0, b_column = 1;  ///< of b[k, n]
    int64_t c_row = 0;                ///< of c[m, n], whose rows are contiguous
    bool bias = false;                ///< f32 [n]
    bool pack_b = false;              ///< b is constant: it is packed beforehand
    DType a = DType::f32;             ///< f32, or u8 or i8
    DType b = DType::f32;             ///< f32, or i8
    DType c = DType::f32;             ///< f32, or i32
  };

  Matmul() = default;
  explicit Matmul(const Spec& spec);

  /// Bytes that `pack` writes; 0 where the primitive reads b as it is.
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
