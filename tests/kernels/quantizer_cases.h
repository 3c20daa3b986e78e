// Operands with critical values for quantizers: ties, their neighbours, limits of the code range, and everything that
// is not a plain number.
#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "halfstep/engine/kernels/ops.h"
#include "tests/kernels/kernel_harness.h"

namespace halfstep::kernels {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline const std::vector<float>& special_values() {
  static const std::vector<float> values = {0.0F,        -0.0F,        kNan,   -kNan,   kInfinity,      -kInfinity,
                                            1e-40F,      -1e-40F,      1e-45F, FLT_MIN, FLT_MAX,        -FLT_MAX,
                                            0.49999997F, -0.49999997F, 0.5F,   -0.5F,   0x1.fffffep22F, 8388609.F,
                                            -8388607.5F, 2147483648.F, -3e9F};
  return values;
}

/// Values around the codes of `scale`: a third are exact ties, a third one float beside a tie, and the rest are normal
/// values, bit patterns and special values.
inline std::vector<float> tie_values(int64_t size, float scale, uint64_t stream) {
  Random random(7, stream);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& v : values) {
    const float tie = (static_cast<float>(random.below(600)) - 300.0F + 0.5F) * scale;
    switch (random.below(8)) {
      case 0:
      case 1: v = tie; break;
      case 2: v = std::nextafterf(tie, kInfinity); break;
      case 3: v = std::nextafterf(tie, -kInfinity); break;
      case 4:
      case 5: v = random.normal() * 100.0F * scale; break;
      case 6: v = std::bit_cast<float>(random.bits()); break;
      default: v = special_values()[random.below(special_values().size())];
    }
  }
  return values;
}

inline Tensor f32_tensor(Dims dims, const std::vector<float>& values) {
  return Tensor::of<float>(DType::f32, std::move(dims), values);
}

/// Repeats the values until the dims are full.
template <class T>
Tensor cyclic(DType dtype, Dims dims, const std::vector<T>& values) {
  Tensor tensor(dtype, std::move(dims));
  auto to = tensor.data<T>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = values[i % values.size()];
  return tensor;
}

inline Tensor tie_tensor(const Dims& dims, float scale, uint64_t stream = 0) {
  return f32_tensor(dims, tie_values(count_elements(dims), scale, stream));
}

/// A shape with the axis of its channels.
struct Layout {
  Dims dims;
  int64_t axis = -1;
  int64_t channels() const { return axis < 0 ? 1 : dims[axis]; }
};

/// Sizes around vector widths of 4, 8 and 16, runs that start at every offset from a vector boundary, and empty
/// tensors.
inline const std::vector<Layout>& layouts() {
  static const std::vector<Layout> all = {{{0}},
                                          {{0, 4}},
                                          {{1}},
                                          {{7}},
                                          {{8}},
                                          {{9}},
                                          {{15}},
                                          {{16}},
                                          {{17}},
                                          {{33}},
                                          {{0, 3, 5}, 1},
                                          {{3, 0, 5}, 1},
                                          {{16, 3, 3, 3}, 0},
                                          {{40, 1, 3, 3}, 0},
                                          {{5, 16, 33}, 1},
                                          {{2, 3, 4}, 1},
                                          {{4, 7}, 0},
                                          {{3, 5, 2, 15}, 1}};
  return all;
}

/// More than one piece of 65536 elements: cut inside a run and between runs.
inline const std::vector<Layout>& large_layouts() {
  static const std::vector<Layout> all = {{{65536}}, {{65537}}, {{2, 2, 65539}, 1}, {{300, 17, 31}, 1}};
  return all;
}

/// Attributes that all quantizers have.
struct QuantizerAttributes {
  int64_t code_min = 0;
  int64_t code_max = 255;
  std::string rounding = "half_even";
  std::string method = "divide";
  std::string code_type = "u8";
  double gradient_scale = 1.0;

  Attributes on_axis(int64_t axis) const {
    return {{"axis", axis},
            {"code_min", code_min},
            {"code_max", code_max},
            {"rounding", rounding},
            {"method", method},
            {"code_type", code_type},
            {"gradient_scale", gradient_scale},
            {"requantize", std::string("fixed_point")},
            {"multiplier_bits", int64_t{31}},
            {"shift_rounding", std::string("half_up")},
            {"average_bits", int64_t{0}}};
  }
};

/// Every rounding mode with both methods.
inline std::vector<QuantizerAttributes> rounding_methods(int64_t code_min, int64_t code_max,
                                                         std::string code_type = "u8") {
  std::vector<QuantizerAttributes> all;
  for (const char* rounding : {"half_even", "half_away", "half_up"}) {
    for (const char* method : {"divide", "reciprocal"})
      all.push_back({code_min, code_max, rounding, method, code_type});
  }
  return all;
}

}  // namespace halfstep::kernels
