// Paddle's dequantizers on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/paddle/cpu/dequantize.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <memory>

#include "halfstep/engine/kernels/common/simd/arithmetic-inl.h"
#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/quantizers/paddle/dequantizer.h"

#ifndef HALFSTEP_KERNELS_PADDLE_CPU_DEQUANTIZE_ONCE
#define HALFSTEP_KERNELS_PADDLE_CPU_DEQUANTIZE_ONCE
namespace halfstep::kernels::paddle {

using elements::Walk;

/// Dequantizes the elements [begin, end). `scales` are by channel. The pointers hide the types X and T.
struct DequantizeCall {
  const Walk& walk;
  const void* scales;
  double second, largest;
  const void* src;
  void* dst;
  int64_t begin, end;
};
using DequantizeFunction = void (*)(const DequantizeCall& call);

}  // namespace halfstep::kernels::paddle
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::paddle::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace simd = elements::HWY_NAMESPACE;
using arithmetic::HWY_NAMESPACE::Divisor;

/// x * scale / q, where each operation is rounded to T. kCast: x still has to be converted to T.
template <class T, bool kCast, bool kSecond>
struct Dequantize {
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V operator()(D d, const std::array<V, 1>& scale, V x) const {
    return hn::Div(product(d, scale[0], x), hn::Set(d, largest));
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE V product(D d, V scale, V x) const {
    const V once = rounded(d, hn::Mul(kCast ? rounded(d, x) : x, scale));
    return kSecond ? rounded(d, hn::Mul(once, hn::Set(d, second))) : once;
  }
  template <class D, class V = hn::Vec<D>>
  static HWY_INLINE V rounded(D d, V v) {
    if constexpr (simd::kIsHalf<T>) {
      return simd::rounded_to<T>(d, v);
    } else {
      return v;
    }
  }
  Compute<T> second, largest;

  /// Variant for one scale. Products replace the division.
  template <class D>
  class Uniform {
   public:
    using V = hn::Vec<D>;
    Uniform(const Dequantize& dequantize, const std::array<V, 1>& scale)
        : dequantize_(dequantize), scale_(scale[0]), largest_(D(), hn::Set(D(), dequantize.largest)) {}
    HWY_INLINE bool holds() const { return largest_.holds(); }
    HWY_INLINE V operator()(D d, const std::array<V, 0>&, V x) const {
      return largest_.quotient_of_any(d, dequantize_.product(d, scale_, x));
    }

   private:
    Dequantize dequantize_;
    V scale_;
    Divisor<D> largest_;
  };
};

template <class X, class T, bool kSecond>
void dequantize(const DequantizeCall& call) {
  using C = Compute<T>;
  constexpr bool kCast = simd::kIsHalf<T> && !std::is_same_v<X, T> && !std::is_same_v<X, int8_t>;
  const Dequantize<T, kCast, kSecond> function{static_cast<C>(call.second), static_cast<C>(call.largest)};
  simd::apply<C, 1>(call.walk, function, {static_cast<const C*>(call.scales)}, call.begin, call.end,
                    static_cast<T*>(call.dst), static_cast<const X*>(call.src));
}

void copy_elements(const DequantizeCall& call, int64_t element_bytes) {
  simd::copy(static_cast<const std::byte*>(call.src) + call.begin * element_bytes,
             static_cast<std::byte*>(call.dst) + call.begin * element_bytes, (call.end - call.begin) * element_bytes,
             call.walk.stream);
}

template <class X, class T>
DequantizeFunction choose_dequantize(bool has_second) {
  if constexpr (std::is_same_v<X, T>) {
    if (has_second) return &dequantize<X, T, true>;
  }
  return &dequantize<X, T, false>;
}

}  // namespace halfstep::kernels::paddle::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace paddle {
namespace {

struct DequantizerState {
  Dequantizer d;
  Walk walk;
  DequantizeFunction function = nullptr;
  void (*copy)(const DequantizeCall& call, int64_t element_bytes) = nullptr;
  /// A separate phase widens the scales. It is needed where a half type has several scales.
  bool widens = false;
};

template <class Op>
Plan prepare(const Problem& problem) {
  auto state = std::make_shared<DequantizerState>();
  const Dequantizer d = dequantizer_of<Op>(problem);
  state->d = d;
  state->walk = Walk(d.channels, d.channels.size() * static_cast<int64_t>(size_of(d.to)));
  with_dequantized_types(d, [&]<class X, class T>() {
    state->function = HS_SIMD_CHOOSE(problem.level, choose_dequantize<X, T>)(d.has_second);
  });
  state->copy = HS_SIMD_CHOOSE(problem.level, copy_elements);
  state->widens = size_of(d.to) == 2 && d.channels.count > 1 && !d.copies;
  Plan plan{.state = state, .phases = {state->walk.pieces()}};
  if (state->widens) {
    plan.scratch = static_cast<size_t>(d.channels.count) * sizeof(float);
    plan.phases.insert(plan.phases.begin(), pieces_of(d.channels.count));
  }
  return plan;
}

void widen_scales(const Call& call, const Dequantizer& d, int64_t piece) {
  auto* wide = reinterpret_cast<float*>(call.scratch);
  const int64_t end = std::min(d.channels.count, (piece + 1) * kPieceElements);
  with_any_float(d.to, [&]<class T>() {
    const T* scales = call.in[Dequantizer::kScale].as<const T>();
    for (int64_t c = piece * kPieceElements; c < end; ++c) wide[c] = static_cast<float>(scales[c]);
  });
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<DequantizerState>(call);
  const Dequantizer& d = state.d;
  if (state.widens && phase == 0) {
    widen_scales(call, d, piece);
    return {};
  }
  DequantizeCall work{state.walk,
                      nullptr,
                      0,
                      0,
                      call.in[0].data,
                      call.out[0].data,
                      state.walk.piece_begin(piece),
                      state.walk.piece_end(piece)};
  if (d.copies) {
    state.copy(work, static_cast<int64_t>(size_of(d.to)));
    return {};
  }
  with_any_float(d.to, [&]<class T>() {
    using C = Compute<T>;
    const T* scales = call.in[Dequantizer::kScale].as<const T>();
    work.largest = static_cast<double>(static_cast<C>(T(static_cast<C>(d.largest))));
    if (d.has_second) work.second = static_cast<double>(static_cast<C>(*call.in[Dequantizer::kSecond].as<const T>()));
    C single = 0;
    if constexpr (std::is_same_v<T, C>) {
      work.scales = scales;
    } else if (state.widens) {
      work.scales = call.scratch;
    } else {
      if (d.channels.count == 1) single = static_cast<C>(*scales);
      work.scales = &single;
    }
    state.function(work);
  });
  return {};
}

}  // namespace
}  // namespace paddle

const Kernel cpu_dequantize_linear_simd{"simd", accept_simd, paddle::prepare<DequantizeLinear>, paddle::run};
const Kernel cpu_fake_dequantize_max_abs_simd{"simd", accept_simd, paddle::prepare<FakeDequantizeMaxAbs>, paddle::run};
const Kernel cpu_fake_channel_wise_dequantize_max_abs_simd{
    "simd", accept_simd, paddle::prepare<FakeChannelWiseDequantizeMaxAbs>, paddle::run};

}  // namespace halfstep::kernels
#endif
