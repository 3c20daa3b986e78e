// Reads tensors as float64 numbers.
#pragma once

#include <span>
#include <vector>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// Numbers up to this value hide elements from a softmax. No network computes with numbers of this size.
inline constexpr double kHidden = -1e30;
/// If only softmaxes read them, numbers up to this value hide elements too, because e to this power is 0 in float32.
inline constexpr double kMasking = -1e4;

/// The numbers of a tensor: its elements, or the real values of codes with a scale and a zero point.
struct Numbers {
  Tensor tensor;
  bool codes = false;
  double scale = 1;
  int64_t zero_point = 0;

  int64_t size() const { return tensor.size(); }
  /// Reads the numbers at flat indices. A negative index is outside of the tensor and reads as 0.
  void read(std::span<const int64_t> indices, std::span<double> to) const;
  /// All numbers as f64, for an operator that computes. Integers and booleans keep their type.
  Tensor operand() const;
};

/// Converts a flat row-major index to an index on each axis.
Dims position_of(int64_t index, std::span<const int64_t> dims);

/// Converts a position in a sample [c, h, w] to the flat index in [h, w, c] order. -1 for other numbers of axes.
int64_t nhwc_index(const Dims& position, std::span<const int64_t> dims);

/// Selects flat indices of a value: all elements along `axis` at random spread positions, at least `wanted` if there
/// are as many. Ordered by position, so that elements with the same operands are adjacent.
std::vector<int64_t> spread_indices(const Dims& dims, size_t axis, int64_t wanted, Random random);

}  // namespace halfstep::verify
