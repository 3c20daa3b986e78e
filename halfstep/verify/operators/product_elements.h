// Computes single elements of a product of activations and a weight in float64, for convolutions and matrix products.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "halfstep/core/ir/graph.h"
#include "halfstep/verify/operators/product_window.h"
#include "halfstep/verify/operators/tensor_numbers.h"

namespace halfstep::verify {

/// Whether the operation quantizes or dequantizes in a network that another framework has quantized.
bool is_foreign_quantizer(Op op);
/// Whether the operation is a foreign quantizer, or a quantizer of a prepared network.
bool is_quantizer(Op op);

/// The operand that `op` multiplies by or adds to stored numbers, or numbers computed from stored ones. This is x of a
/// normalization, the other operand of a sum, difference, product or quotient, or the negated value. Null for any other
/// operation.
Value scaled_and_moved(Op op);

/// Whether the result has the elements of the first operand in the same order.
bool keeps_order(Op op);

/// Whether `after` replaces several operations, with `before` as the last of them. Also true if `after` multiplies by a
/// reciprocal where `before` divides or is a mean (whose codes are another number), or if `before` is an attention with
/// `after` as its last part. Results only differ by the float32 rounding of constants, such as sqrt(2) in a GELU.
bool is_recognised(Op before, Op after);
/// Upper bound of the effect of such roundings, relative to operands and result.
inline constexpr double kConstants = 0x1p-22;

/// Operand positions of operators with weights, including operators that are not quantized. A linear layer stores its
/// weight as [out, in]. gemm and matmul store it as [in, out], unless their attributes specify otherwise.
struct WeightPorts {
  int weight = -1, bias = -1;
};
/// Empty if the operator has no weight, or if the weight before its quantizers is not a tensor.
std::optional<WeightPorts> weight_ports(Op op);

/// Whether the operator stores its weight as [in, out], not with output channels first.
bool inputs_first(Op op);

/// Axis of output channels in the operator's result.
size_t channel_axis(Op op);

/// Products without the bias, and without the factor of a gemm. Each element is one sum in double, in the order of the
/// operator's definition, in eight interleaved parts.
class Product {
 public:
  /// Empty if the operator has no such form. The whole result must then be computed at once.
  static std::optional<Product> of(Op op, const Numbers& weight);

  /// `x` is the operator's first operand. `magnitude` returns the sums of the magnitudes of all terms instead.
  std::vector<double> elements(const Numbers& x, std::span<const int64_t> indices, bool magnitude = false) const;

 private:
  /// Source of an element of the result: a patch of x and a row of weights.
  struct Place {
    int64_t patch, row;
  };
  /// Consecutive elements from one patch.
  struct Run {
    int64_t patch;
    size_t begin;
    std::vector<int64_t> rows;
  };
  Product(Op op, const Numbers& weight);
  std::vector<Run> runs_of(std::span<const int64_t> indices) const;
  Place place(int64_t element) const;
  Place next(Place last) const;
  /// Indices of the elements of x in a patch, -1 in the padding.
  void fill(int64_t patch, std::vector<int64_t>& indices) const;

  std::optional<ProductWindow> window_;  ///< set for a convolution
  Dims y_;
  int64_t taps_ = 0;
  std::vector<double> rows_;  ///< [output channels, taps]
};

}  // namespace halfstep::verify
