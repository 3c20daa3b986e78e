// Activations fused into the operator before them. They equal the pointwise operators of the same names, NaN included.
#pragma once

#include <cstdint>
#include <string_view>

#include "halfstep/core/arith/pointwise_functions.h"
#include "halfstep/engine/kernels/common/number_types.h"

namespace halfstep::kernels {

struct Activation {
  enum class Kind { none, relu, relu6, leaky_relu, gelu, silu };
  Kind kind = Kind::none;
  double alpha = 0.0;  ///< slope of leaky_relu below zero

  static Activation of(std::string_view name, double alpha) {
    if (name == "none") return {};
    if (name == "relu") return {Kind::relu, alpha};
    if (name == "relu6") return {Kind::relu6, alpha};
    if (name == "gelu") return {Kind::gelu, alpha};
    if (name == "silu") return {Kind::silu, alpha};
    HS_CHECK(name == "leaky_relu");
    return {Kind::leaky_relu, alpha};
  }

  /// Applies the activation to `size` elements in place.
  template <class T>
  void apply(T* values, int64_t size) const {
    using W = Wide<T>;
    const W slope = static_cast<W>(alpha);
    switch (kind) {
      case Kind::none: return;
      case Kind::relu: return map(values, size, [](W x) { return x < 0 ? W(0) : x; });
      case Kind::relu6: return map(values, size, [](W x) { return x < 0 ? W(0) : x > 6 ? W(6) : x; });
      case Kind::leaky_relu: return map(values, size, [slope](W x) { return x < 0 ? slope * x : x; });
      case Kind::gelu: return map(values, size, arith::functions::Gelu({{"approximate", false}}));
      case Kind::silu: return map(values, size, arith::functions::Silu({}));
    }
  }

 private:
  template <class T, class Function>
  static void map(T* values, int64_t size, Function function) {
    for (int64_t i = 0; i < size; ++i) values[i] = narrow<T>(function(widen(values[i])));
  }
};

}  // namespace halfstep::kernels
