// Arithmetic whose operands differ in number or type.
#include "halfstep/engine/kernels/elementwise/walk.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace elementwise {
namespace {

Status run_select(const Call& call, int, int64_t piece) {
  using In = Select::in;
  const auto& runs = state_of<BroadcastState<Select>>(call).runs;
  with_bits(call.out[0].dtype, [&]<class T>() {
    for_each_run(runs, piece, [&](int64_t run, int64_t first, int64_t count, int64_t at) {
      const Cursor<bool> condition(runs, 0, call.in[In::condition].as<const bool>(), run, first);
      const Cursor<T> a(runs, 1, call.in[In::a].as<const T>(), run, first);
      const Cursor<T> b(runs, 2, call.in[In::b].as<const T>(), run, first);
      T* dst = call.out[0].as<T>() + at;
      const int64_t c_step = condition.moves, a_step = a.moves, b_step = b.moves;
      for (int64_t e = 0; e < count; ++e) dst[e] = condition.at[e * c_step] ? a.at[e * a_step] : b.at[e * b_step];
    });
  });
  return {};
}

Status run_mask_fill(const Call& call, int, int64_t piece) {
  using In = MaskFill::in;
  const auto& state = state_of<BroadcastState<MaskFill>>(call);
  const Runs& runs = state.runs;
  const bool inverse = state.attributes.inverse;
  with_bits(call.out[0].dtype, [&]<class T>() {
    const T value = *call.in[In::value].as<const T>();
    for_each_run(runs, piece, [&](int64_t run, int64_t first, int64_t count, int64_t at) {
      const Cursor<T> x(runs, In::x, call.in[In::x].as<const T>(), run, first);
      const Cursor<bool> condition(runs, In::condition, call.in[In::condition].as<const bool>(), run, first);
      T* dst = call.out[0].as<T>() + at;
      const int64_t x_step = x.moves, c_step = condition.moves;
      for (int64_t e = 0; e < count; ++e) dst[e] = condition.at[e * c_step] != inverse ? value : x.at[e * x_step];
    });
  });
  return {};
}

Status run_clip(const Call& call, int, int64_t piece) {
  using In = Clip::in;
  with_number(call.out[0].dtype, [&]<class T>() {
    using W = Wide<T>;
    const bool has_lowest = call.in[In::lowest].present(), has_highest = call.in[In::highest].present();
    const W lowest = has_lowest ? widen(*call.in[In::lowest].as<const T>()) : W();
    const W highest = has_highest ? widen(*call.in[In::highest].as<const T>()) : W();
    map_one(call.in[In::x].as<const T>(), call.out[0].as<T>(), call.out[0].size(), piece, [=](T value) {
      W x = widen(value);
      if (has_lowest && x < lowest) x = lowest;
      if (has_highest && x > highest) x = highest;
      return narrow<T>(x);
    });
  });
  return {};
}

Status run_prelu(const Call& call, int, int64_t piece) {
  const auto& runs = state_of<BroadcastState<Prelu>>(call).runs;
  with_number(call.out[0].dtype, [&]<class T>() {
    const auto rule = [](T value, T slope) {
      const Wide<T> x = widen(value);
      if constexpr (std::is_unsigned_v<T>) return value;
      return x < 0 ? static_cast<T>(static_cast<Wide<T>>(x * widen(slope))) : value;
    };
    map_two(runs, call.in[0].as<const T>(), call.in[1].as<const T>(), call.out[0].as<T>(), piece, rule);
  });
  return {};
}

/// Integer powers modulo 2^64.
uint64_t whole_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

/// An exponent of any type, so that the loop is compiled only for the types of the base.
struct Exponent {
  double real;     ///< value, rounded if it is an integer
  uint64_t whole;  ///< integer value modulo 2^64
  bool is_whole, negative;
};

template <class U>
Exponent exponent_at(const void* exponents, int64_t i) {
  const U b = static_cast<const U*>(exponents)[i];
  if constexpr (kIsFloat<U>) {
    return {to_double(b), 0, false, false};
  } else {
    return {to_double(b), static_cast<uint64_t>(b), true, std::is_signed_v<U> && b < U(0)};
  }
}

template <class T>
T power_of(T a, const Exponent& b) {
  if constexpr (kIsFloat<T>) {
    return from_double<T>(std::pow(to_double(a), b.real));
  } else {
    if (!b.is_whole) return saturated<T>(std::pow(static_cast<double>(a), b.real));
    if (b.negative)
      return static_cast<T>(a == 1 ? 1 : std::is_signed_v<T> && a == static_cast<T>(-1) ? (b.whole % 2 ? -1 : 1) : 0);
    return static_cast<T>(whole_power(static_cast<uint64_t>(a), b.whole));
  }
}

Status run_power(const Call& call, int, int64_t piece) {
  const auto& runs = state_of<BroadcastState<Power>>(call).runs;
  const auto exponent = with_number(call.in[1].dtype, []<class U>() { return &exponent_at<U>; });
  with_number(call.in[0].dtype, [&]<class T>() {
    for_each_run(runs, piece, [&](int64_t run, int64_t first, int64_t count, int64_t at) {
      const Cursor<T> base(runs, 0, call.in[0].as<const T>(), run, first);
      const int64_t step = base.moves, exponent_step = runs.step(1);
      const int64_t start = runs.offset(1, run) + first * exponent_step;
      T* dst = call.out[0].as<T>() + at;
      for (int64_t e = 0; e < count; ++e)
        dst[e] = power_of(base.at[e * step], exponent(call.in[1].data, start + e * exponent_step));
    });
  });
  return {};
}

template <class T>
T remainder_of(T a, T b, bool fmod) {
  if constexpr (kIsFloat<T>) {
    const auto x = widen(a), y = widen(b);
    auto rest = std::fmod(x, y);
    if (!fmod && rest != 0 && (rest < 0) != (y < 0)) rest += y;
    return narrow<T>(rest);
  } else {
    if (b == 0) return 0;
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    const auto rest = static_cast<T>(a % b);
    return !fmod && rest != 0 && (rest < 0) != (b < 0) ? static_cast<T>(rest + b) : rest;
  }
}

Status run_modulo(const Call& call, int, int64_t piece) {
  const auto& [runs, attributes] = state_of<BroadcastState<Modulo>>(call);
  with_number(call.out[0].dtype, [&]<class T>() {
    map_two(runs, call.in[0].as<const T>(), call.in[1].as<const T>(), call.out[0].as<T>(), piece,
            [fmod = attributes.fmod](T a, T b) { return remainder_of(a, b, fmod); });
  });
  return {};
}

struct Larger {
  template <class W>
  W operator()(W a, W b) const {
    return a >= b || a != a ? a : b;
  }
};
struct Smaller {
  template <class W>
  W operator()(W a, W b) const {
    return a <= b || a != a ? a : b;
  }
};
struct Plus {
  template <class W>
  W operator()(W a, W b) const {
    return static_cast<W>(a + b);
  }
};

/// Folds the operands in order with `Function`, in the type of computation of T. The result is rounded once.
template <class Typed, class Function, bool mean>
Status run_variadic(const Call& call, int, int64_t piece) {
  const auto& runs = state_of<BroadcastState<Typed>>(call).runs;
  constexpr int64_t kChunk = 256;
  with_number(call.out[0].dtype, [&]<class T>() {
    using W = Wide<T>;
    std::array<W, kChunk> folded;
    for_each_run(runs, piece, [&](int64_t run, int64_t first, int64_t count, int64_t at) {
      for (int64_t begin = 0; begin < count; begin += kChunk) {
        const int64_t size = std::min(kChunk, count - begin);
        for (size_t i = 0; i < call.in.size(); ++i) {
          const Cursor<T> x(runs, i, call.in[i].as<const T>(), run, first + begin);
          const int64_t step = x.moves;
          for (int64_t e = 0; e < size; ++e) {
            const W value = widen(x.at[e * step]);
            folded[e] = i == 0 ? value : Function()(folded[e], value);
          }
        }
        T* dst = call.out[0].as<T>() + at + begin;
        const auto values = static_cast<W>(call.in.size());
        for (int64_t e = 0; e < size; ++e) dst[e] = narrow<T>(mean ? static_cast<W>(folded[e] / values) : folded[e]);
      }
    });
  });
  return {};
}

}  // namespace
}  // namespace elementwise

using namespace elementwise;  // NOLINT: only for the table below

extern const Kernel reference_mask_fill{"reference", accept_all, prepare<MaskFill>, run_mask_fill};
extern const Kernel reference_select{"reference", accept_all, prepare<Select>, run_select};
extern const Kernel reference_clip{"reference", accept_all, prepare<Clip>, run_clip};
extern const Kernel reference_prelu{"reference", accept_all, prepare<Prelu>, run_prelu};
extern const Kernel reference_power{"reference", accept_all, prepare<Power>, run_power};
extern const Kernel reference_modulo{"reference", accept_all, prepare<Modulo>, run_modulo};
extern const Kernel reference_sum_of{"reference", accept_all, prepare<SumOf>, run_variadic<SumOf, Plus, false>};
extern const Kernel reference_mean_of{"reference", accept_all, prepare<MeanOf>, run_variadic<MeanOf, Plus, true>};
extern const Kernel reference_max_of{"reference", accept_all, prepare<MaxOf>, run_variadic<MaxOf, Larger, false>};
extern const Kernel reference_min_of{"reference", accept_all, prepare<MinOf>, run_variadic<MinOf, Smaller, false>};

}  // namespace halfstep::kernels
