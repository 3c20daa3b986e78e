// Conversions between element types, through the widest type of each kind.
#include <array>

#include "halfstep/core/base/small_float.h"
#include "halfstep/core/base/with_number_type.h"
#include "halfstep/engine/kernels/elementwise/walk.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace elementwise {
namespace {

constexpr int64_t kChunk = 512;

struct CastState {
  DType from, to;
  bool saturate;
};

Plan prepare_cast(const Problem& problem) {
  return {.state = std::make_shared<CastState>(problem.in[0]->dtype, problem.out[0]->dtype,
                                               Cast(problem.attributes).saturate),
          .phases = {pieces(count_elements(problem.out[0]->dims))}};
}

/// The low bits of an integer as an element, with its sign.
template <class T>
T low_bits(uint64_t value, DType dtype) {
  const int bits = bits_of(dtype);
  if (bits >= 8) return static_cast<T>(value);
  const int shift = 64 - bits;
  return std::is_signed_v<T> ? static_cast<T>(static_cast<int64_t>(value << shift) >> shift)
                             : static_cast<T>(value << shift >> shift);
}

/// A float as an integer. 8 bits or more saturate. Fewer keep the low bits.
template <class T>
T whole_of(double value, DType dtype) {
  return bits_of(dtype) >= 8 ? saturated<T>(value)
                             : low_bits<T>(static_cast<uint64_t>(saturated<int64_t>(value)), dtype);
}

/// Rounds once, directly from double.
template <class T>
T half_of(double value, const SmallFloat& format) {
  const auto single = static_cast<float>(value);
  T half;
  half.bits = static_cast<double>(single) == value || value != value ? T(single).bits : encode(value, format, false);
  return half;
}

/// NaN becomes -0 if the format has no NaN, as in onnx.reference.
uint8_t small_of(double value, const SmallFloat& format, bool saturate) {
  if (value != value && format.quiet_nan() == 0) value = -0.0;
  return static_cast<uint8_t>(encode(value, format, saturate));
}

/// Converts double, int64_t or uint64_t to elements.
template <class Source>
void store(const Source* src, const CastState& state, void* results, int64_t begin, int64_t count) {
  const DType to = state.to;
  if (to == DType::f16 || to == DType::bf16 || is_small_float(to)) {
    const SmallFloat format = SmallFloat::of(to);
    for (int64_t i = 0; i < count; ++i) {
      const auto value = static_cast<double>(src[i]);
      if (to == DType::f16) {
        static_cast<Half*>(results)[begin + i] = half_of<Half>(value, format);
      } else if (to == DType::bf16) {
        static_cast<BFloat16*>(results)[begin + i] = half_of<BFloat16>(value, format);
      } else {
        static_cast<uint8_t*>(results)[begin + i] = small_of(value, format, state.saturate);
      }
    }
    return;
  }
  with_number_type(to, [&]<class T>() {
    T* dst = static_cast<T*>(results) + begin;
    for (int64_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        dst[i] = src[i] != 0;
      } else if constexpr (std::is_floating_point_v<T>) {
        dst[i] = static_cast<T>(src[i]);
      } else if constexpr (std::is_floating_point_v<Source>) {
        dst[i] = whole_of<T>(src[i], to);
      } else {
        dst[i] = low_bits<T>(static_cast<uint64_t>(src[i]), to);
      }
    }
  });
}

/// Converts elements [begin, begin + count). There are at most kChunk.
void convert(const CastState& state, const void* operands, void* results, int64_t begin, int64_t count) {
  const auto from = [&]<class T, class Wide>(const auto& load) {
    std::array<Wide, kChunk> values;
    const T* src = static_cast<const T*>(operands) + begin;
    for (int64_t i = 0; i < count; ++i) values[i] = load(src[i]);
    store(values.data(), state, results, begin, count);
  };
  if (state.from == DType::f16) return from.operator()<Half, double>([](Half x) { return to_double(x); });
  if (state.from == DType::bf16) return from.operator()<BFloat16, double>([](BFloat16 x) { return to_double(x); });
  if (is_small_float(state.from)) {
    const SmallFloat format = SmallFloat::of(state.from);
    return from.operator()<uint8_t, double>([&](uint8_t x) { return decode(x, format); });
  }
  with_number_type(state.from, [&]<class T>() {
    using Widest = std::conditional_t<std::is_floating_point_v<T>, double,
                                      std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;
    from.template operator()<T, Widest>([](T x) { return static_cast<Widest>(x); });
  });
}

Status run_cast(const Call& call, int, int64_t piece) {
  const auto& state = state_of<CastState>(call);
  const int64_t end = std::min(call.out[0].size(), (piece + 1) * kPiece);
  for (int64_t at = piece * kPiece; at < end; at += kChunk)
    convert(state, call.in[0].data, call.out[0].data, at, std::min(kChunk, end - at));
  return {};
}

}  // namespace
}  // namespace elementwise

extern const Kernel reference_cast{"reference", accept_all, elementwise::prepare_cast, elementwise::run_cast};

}  // namespace halfstep::kernels
