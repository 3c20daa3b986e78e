// Tensors read as numbers in float64.
#pragma once

#include <span>
#include <vector>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// Numbers up to here hide elements from a softmax; no network computes with numbers of that size.
inline constexpr double kHidden = -1e30;
/// And up to here where nothing but softmaxes reads them: e to such a number is 0 in float32.
inline constexpr double kMasking = -1e4;

/// What a tensor stands for: its elements as they are, or as codes under a scale and a zero point.
struct Numbers {
  Tensor tensor;
  bool codes = false;
  double scale = 1;
  int64_t zero_point = 0;

  int64_t size() const { return tensor.size(); }
  /// The numbers at flat indices. An index below 0, a place outside of the tensor, has 0.
  void read(std::span<const int64_t> indices, std::span<double> to) const;
  /// All of them as f64, for an operator that computes; whole numbers and booleans as they are.
  Tensor operand() const;
};

/// Index in each axis of a flat row-major index.
Dims position_of(int64_t index, std::span<const int64_t> dims);

/// The flat index in [h, w, c] order of a position in a sample [c, h, w]; -1 for other numbers of axes.
int64_t nhwc_index(const Dims& position, std::span<const int64_t> dims);

/// Flat indices into a value: all elements along `axis` at places that are spread over it at random, at least `wanted`
/// where there are so many. In the order of places, so that what needs the same operands stands together.
std::vector<int64_t> spread_indices(const Dims& dims, size_t axis, int64_t wanted, Random random);

}  // namespace halfstep::verify
