// Elements of a product of features and a weight in float64, one by one: a convolution or a matrix product.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/ir/graph.h"
#include "halfstep/verify/operators/numbers.h"

namespace halfstep::verify {

/// What stands between reals and codes in networks that another framework has quantized.
bool is_foreign_quantizer(Op op);
/// The same, or a quantizer of a prepared network.
bool is_quantizer(Op op);

/// What `op` multiplies and adds to by numbers that are stored, or computed of stored ones alone: a normalization's x,
/// the other operand of a sum, a difference, a product or a quotient, what is negated; null for any other operation.
Value scaled_and_moved(Op op);

/// Whether the elements of the result are those of the first operand, in their order.
bool keeps_order(Op op);

/// Whether `after` is the one operation that `before` is the last of several of, a product with a reciprocal where
/// `before` divides or is a mean (whose codes are another number), or the last part of an attention: what they compute
/// is the same but for the float32 rounding of constants, sqrt(2) in a GELU.
bool is_recognised(Op before, Op after);
/// More than such roundings change, of operands and result.
inline constexpr double kConstants = 0x1p-22;

/// Operand positions of the operators that weigh features: all of them, whatever becomes of them on codes. A linear
/// layer keeps its weight as [out, in]; gemm and matmul keep it as [in, out] unless they say otherwise.
struct WeightPorts {
  int weight = -1, bias = -1;
};
/// Nothing where the operator has no weight, or it is no tensor, seen through quantizers.
std::optional<WeightPorts> weight_ports(Op op);

/// Whether the operator has its weight as [in, out], and not output channels first.
bool inputs_first(Op op);

/// Axis of output channels of the operator's result.
size_t channel_axis(Op op);

/// Without the bias, and without the factor of a gemm. Each element is one sum in double over what the operator's
/// definition says, in eight interleaved parts.
class Product {
 public:
  /// Nothing where the operator has no such form: then all of it must be worked out at once.
  static std::optional<Product> of(Op op, const Numbers& weight);

  /// `x` is the operator's first operand. With `magnitude` the sums of the magnitudes of what is added.
  std::vector<double> elements(const Numbers& x, std::span<const int64_t> indices, bool magnitude = false) const;

 private:
  /// Where an element of the result comes from: a patch of x and a row of weights.
  struct Place {
    int64_t patch, row;
  };
  /// Elements that come from one patch and stand together.
  struct Run {
    int64_t patch;
    size_t begin;
    std::vector<int64_t> rows;
  };
  Product(Op op, const Numbers& weight);
  std::vector<Run> runs_of(std::span<const int64_t> indices) const;
  Place place(int64_t element) const;
  Place next(Place last) const;
  /// Elements of x in a patch; -1 in the padding.
  void fill(int64_t patch, std::vector<int64_t>& indices) const;
  void fill_window(int64_t patch, std::vector<int64_t>& indices) const;

  bool convolves_ = false;
  Dims x_, y_, kernel_;  ///< extents; of a convolution [n, c, h, w] and [height, width] of its weight
  std::vector<int64_t> stride_, dilation_, pad_;
  int64_t groups_ = 1, taps_ = 0;
  std::vector<double> rows_;  ///< [output channels, taps]
};

}  // namespace halfstep::verify
