// Loads and stores elements of every type as vectors of float or double, and loops over elements with parameters by
// channel. Included once per Highway target.
//
// A kernel file looks like this:
//
//   struct Scale {  // a function: the parameters of the elements' channels, then the elements
//     template <class D, class V = hn::Vec<D>>
//     HWY_INLINE V operator()(D, const std::array<V, 1>& parameters, V x) const { return hn::Mul(x, parameters[0]); }
//   };
//   void scale(const Walk& walk, const float* scales, const Half* src, Half* dst, int64_t begin, int64_t end) {
//     elements::HWY_NAMESPACE::apply<float, 1>(walk, Scale(), {scales}, begin, end, dst, src);
//   }
#if defined(HALFSTEP_KERNELS_ELEMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFSTEP_KERNELS_ELEMENTS_INL_H_
#undef HALFSTEP_KERNELS_ELEMENTS_INL_H_
#else
#define HALFSTEP_KERNELS_ELEMENTS_INL_H_
#endif

#include <array>
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halfstep/core/base/small_float.h"
#include "halfstep/engine/kernels/common/elements.h"
#include "halfstep/engine/kernels/common/simd/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elements::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Used lanes of a vector: all, or the first `count`, fewer than all. Memory after them is neither read nor written.
/// Lanes after them are 0.
struct Whole {};
struct Part {
  int64_t count;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// Type of the lane that holds an element.
template <class T>
using Lane = std::conditional_t<kIsHalf<T>, uint16_t, T>;
/// Vector with as many elements as D has lanes.
template <class T, class D>
using Packed = hn::Rebind<Lane<T>, D>;

/// Whether the target reads and writes parts of a vector of such lanes. AVX2 has masks only for 4 and 8 bytes.
template <class T>
inline constexpr bool kHasMasks = sizeof(T) >= 4 || HWY_TARGET == HWY_AVX3;

template <class P, class T>
HWY_INLINE hn::Vec<P> load_packed(P packed, const T* src, Whole) {
  return hn::LoadU(packed, reinterpret_cast<const hn::TFromD<P>*>(src));
}
template <class P, class T>
HWY_INLINE hn::Vec<P> load_packed(P packed, const T* src, Part part) {
  const auto count = static_cast<size_t>(part.count);
  if constexpr (kHasMasks<T>) {
    return hn::MaskedLoad(hn::FirstN(packed, count), packed, reinterpret_cast<const hn::TFromD<P>*>(src));
  } else {
    HWY_ALIGN hn::TFromD<P> lanes[hn::MaxLanes(P())] = {};
    std::memcpy(lanes, src, count * sizeof(T));
    return hn::Load(packed, lanes);
  }
}

template <class P, class T>
HWY_INLINE void store_packed(hn::Vec<P> v, P packed, T* dst, Whole) {
  hn::StoreU(v, packed, reinterpret_cast<hn::TFromD<P>*>(dst));
}
template <class P, class T>
HWY_INLINE void store_packed(hn::Vec<P> v, P packed, T* dst, Part part) {
  const auto count = static_cast<size_t>(part.count);
  if constexpr (kHasMasks<T>) {
    hn::BlendedStore(v, hn::FirstN(packed, count), packed, reinterpret_cast<hn::TFromD<P>*>(dst));
  } else {
    HWY_ALIGN hn::TFromD<P> lanes[hn::MaxLanes(P())];
    hn::Store(v, packed, lanes);
    std::memcpy(dst, lanes, count * sizeof(T));
  }
}

/// Converts elements of type T to the lanes of D. This is exact, except from double or int32 to float, which round to
/// nearest.
template <class T, class D>
HWY_INLINE hn::Vec<D> widen(D d, hn::Vec<Packed<T, D>> v) {
  using C = hn::TFromD<D>;
  if constexpr (std::is_same_v<T, C>) {
    return v;
  } else if constexpr (std::is_same_v<C, double>) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int32_t>) {
      return hn::PromoteTo(d, v);
    } else {
      return hn::PromoteTo(d, widen<T>(hn::Rebind<float, D>(), v));
    }
  } else if constexpr (std::is_same_v<T, Half>) {
    return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), v));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const hn::RebindToUnsigned<D> bits;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, v)));
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return hn::ConvertTo(d, v);
  } else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 2);
    return hn::ConvertTo(d, hn::PromoteTo(hn::RebindToSigned<D>(), v));
  }
}

/// 32-bit words whose upper halves are the bf16 values of v, rounded half to even. Highway's own conversion truncates.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> bfloat16_words(D, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFU)));
  const auto quiet = hn::Or(bits, hn::Set(d, 0x400000U));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), quiet, rounded);
}

/// Form in which float lanes hold codes of up to 16 bits: the low bits are the integer nearest to v (ties to even, |v|
/// <= 2^22). Adding an integer of that size keeps the form.
template <class D>
HWY_INLINE hn::Vec<D> as_low_bits(D d, hn::Vec<D> v) {
  return hn::Add(v, hn::Set(d, 0x1.8p23F));
}

/// Converts the lanes of D to elements of type T. Float types are rounded half to even (core/base/small_float.h). NaN
/// may differ in payload. Codes of up to 16 bits are the low bits of float lanes. int32 saturates from double lanes,
/// which hold integers and no NaN.
template <class T, class D>
HWY_INLINE hn::Vec<Packed<T, D>> narrow(D d, hn::Vec<D> v) {
  using C = hn::TFromD<D>;
  const Packed<T, D> packed;
  if constexpr (std::is_same_v<T, C>) {
    return v;
  } else if constexpr (std::is_same_v<C, double>) {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, int32_t>, "this type would be rounded twice");
    return hn::DemoteTo(packed, v);
  } else if constexpr (std::is_same_v<T, Half>) {
    // Uses F16C, which every AVX2 target has. It rounds as requested in any float environment and keeps subnormals.
    return hn::BitCast(packed, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return hn::TruncateTo(packed, hn::ShiftRight<16>(bfloat16_words(d, v)));
  } else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 2);
    const hn::RebindToUnsigned<decltype(packed)> bits;
    return hn::BitCast(packed, hn::TruncateTo(bits, hn::BitCast(hn::RebindToUnsigned<D>(), v)));
  }
}

/// Rounds v to the values of T.
template <class T, class D>
HWY_INLINE hn::Vec<D> rounded_to(D d, hn::Vec<D> v) {
  return widen<T>(d, narrow<T>(d, v));
}

/// Loads src[0], src[1], ... into the lanes of D.
template <class D, class T, class Lanes = Whole>
HWY_INLINE hn::Vec<D> load(D d, const T* src, Lanes lanes = {}) {
  if constexpr (std::is_same_v<T, double> && std::is_same_v<hn::TFromD<D>, float>) {
    // Two vectors of doubles become one of floats. Each lane is rounded once.
    const hn::Half<D> half;
    const auto count = static_cast<int64_t>(hn::Lanes(half));
    if constexpr (std::is_same_v<Lanes, Whole>) {
      const hn::Rebind<double, decltype(half)> wide;
      return hn::Combine(d, hn::DemoteTo(half, hn::LoadU(wide, src + count)), hn::DemoteTo(half, hn::LoadU(wide, src)));
    } else {
      HWY_ALIGN float rounded[hn::MaxLanes(D())] = {};
      for (int64_t i = 0; i < lanes.count; ++i) rounded[i] = static_cast<float>(src[i]);
      return hn::Load(d, rounded);
    }
  } else {
    return widen<T>(d, load_packed(Packed<T, D>(), src, lanes));
  }
}

template <class D, class T, class Lanes = Whole>
HWY_INLINE void store(D d, hn::Vec<D> v, T* dst, Lanes lanes = {}) {
  store_packed(narrow<T>(d, v), Packed<T, D>(), dst, lanes);
}

using Bytes = hn::ScalableTag<uint8_t>;

/// Number of vectors of D that fill one vector with elements of type T.
template <class T, class D>
inline constexpr int64_t kGroup = sizeof(T) < sizeof(hn::TFromD<D>) ? sizeof(hn::TFromD<D>) / sizeof(T) : 1;

/// Packs kGroup vectors into one. Each is converted like in `narrow`.
template <class T, class D>
HWY_INLINE hn::Vec<Bytes> pack(D d, const std::array<hn::Vec<D>, kGroup<T, D>>& v) {
  const hn::ScalableTag<uint16_t> words;
  if constexpr (kGroup<T, D> == 1) {
    return hn::BitCast(Bytes(), narrow<T>(d, v[0]));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto low = hn::BitCast(words, bfloat16_words(d, v[0])), high = hn::BitCast(words, bfloat16_words(d, v[1]));
    return hn::BitCast(Bytes(), hn::ConcatOdd(words, high, low));
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 2) {
    const auto pair = [&](size_t i) HWY_ATTR {
      return hn::ConcatEven(words, hn::BitCast(words, v[i + 1]), hn::BitCast(words, v[i]));
    };
    if constexpr (sizeof(T) == 2) {
      return hn::BitCast(Bytes(), pair(0));
    } else {
      return hn::ConcatEven(Bytes(), hn::BitCast(Bytes(), pair(2)), hn::BitCast(Bytes(), pair(0)));
    }
  } else {
    const hn::ScalableTag<Lane<T>> packed;
    return hn::BitCast(Bytes(), hn::Combine(packed, narrow<T>(d, v[1]), narrow<T>(d, v[0])));
  }
}

/// The elements of a row from i on, as one vector of bytes.
template <class D, class T, class Row>
HWY_INLINE hn::Vec<Bytes> block_of(D d, const Row& row, int64_t i) {
  if constexpr (Row::kInterleaves) {
    const hn::RebindToUnsigned<D> words;
    const auto [even, odd] = row.interleaved(i);
    const auto upper = hn::And(bfloat16_words(d, odd), hn::Set(words, 0xFFFF0000U));
    return hn::BitCast(Bytes(), hn::Or(upper, hn::ShiftRight<16>(bfloat16_words(d, even))));
  } else {
    std::array<hn::Vec<D>, kGroup<T, D>> v;
    for (size_t k = 0; k < v.size(); ++k) v[k] = row(i + static_cast<int64_t>(k * hn::Lanes(d)), Whole());
    return pack<T>(d, v);
  }
}

/// Bytes between the current read and the prefetch. The hardware prefetcher restarts on every page, and stores that
/// bypass the caches leave it little time.
inline constexpr int64_t kAhead = 2048;

/// Prefetches the bytes kAhead after [at, at + size).
HWY_INLINE void fetch_ahead(const void* at, size_t size) {
  constexpr size_t kLine = 64;
  for (size_t i = 0; i < size; i += kLine) hwy::Prefetch(static_cast<const uint8_t*>(at) + kAhead + i);
}

/// dst[i] = row(i, lanes) for i in [0, size), block by block. `row` is called with Whole or with Part. With
/// past_caches, call hwy::FlushStream() before others read dst.
template <class D, class T, class Row>
HWY_INLINE void write_row(D d, T* dst, int64_t size, bool past_caches, const Row& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t block = kGroup<T, D> * lanes;
  constexpr size_t kVector = hn::MaxLanes(Bytes());
  auto* const bytes = reinterpret_cast<uint8_t*>(dst);
  const size_t over = past_caches ? reinterpret_cast<uintptr_t>(dst) % kVector : 0;
  int64_t i = 0;
  // Elements before the first aligned vector, blocks, and the rest. The loop makes the code for partial blocks compile
  // once.
  for (int64_t end = over == 0 ? 0 : std::min(size, static_cast<int64_t>((kVector - over) / sizeof(T)));; end = size) {
    for (; i + lanes <= end; i += lanes) store(d, row(i, Whole()), dst + i);
    if (i < end) store(d, row(i, Part{end - i}), dst + i, Part{end - i});
    i = end;
    if (end == size) return;
    for (; i + block <= size; i += block) {
      row.fetch(i, block);
      auto* const to = bytes + static_cast<size_t>(i) * sizeof(T);
      const auto v = block_of<D, T>(d, row, i);
      if (past_caches) {
        hn::Stream(v, Bytes(), to);
      } else {
        fetch_ahead(to, kVector);
        hn::StoreU(v, Bytes(), to);
      }
    }
  }
}

template <class Sources, size_t... I>
HWY_INLINE void fetch_sources(const Sources& src, int64_t i, int64_t size, std::index_sequence<I...>) {
  (fetch_ahead(std::get<I>(src) + i, static_cast<size_t>(size) * sizeof(*std::get<I>(src))), ...);
}

/// function(d, parameters, elements...) with the same parameters for every element. From bf16 to bf16 (U), two vectors
/// are taken from 32-bit words: the even elements, then the odd ones. This costs less than to keep the order.
template <class D, class U, size_t P, class Function, class... T>
struct UniformRow {
  static constexpr bool kInterleaves = (std::is_same_v<U, BFloat16> && ... && std::is_same_v<T, BFloat16>);

  HWY_INLINE void fetch(int64_t i, int64_t size) const { fetch_sources(src, i, size, std::index_sequence_for<T...>()); }
  HWY_INLINE std::pair<hn::Vec<D>, hn::Vec<D>> interleaved(int64_t i) const {
    return interleaved(i, std::index_sequence_for<T...>());
  }
  template <size_t... I>
  HWY_INLINE std::pair<hn::Vec<D>, hn::Vec<D>> interleaved(int64_t i, std::index_sequence<I...>) const {
    const D d;
    const hn::RebindToUnsigned<D> u;
    const hn::Vec<decltype(u)> words[] = {hn::LoadU(u, reinterpret_cast<const uint32_t*>(std::get<I>(src) + i))...};
    return {function(d, parameters, hn::BitCast(d, hn::ShiftLeft<16>(words[I]))...),
            function(d, parameters, hn::BitCast(d, hn::And(words[I], hn::Set(u, 0xFFFF0000U)))...)};
  }

  template <class Lanes>
  HWY_INLINE hn::Vec<D> operator()(int64_t i, Lanes lanes) const {
    return call(i, lanes, std::index_sequence_for<T...>());
  }
  template <class Lanes, size_t... I>
  HWY_INLINE hn::Vec<D> call(int64_t i, Lanes lanes, std::index_sequence<I...>) const {
    return function(D(), parameters, load(D(), std::get<I>(src) + i, lanes)...);
  }
  Function function;  // by value, so that its members stay in registers
  std::array<hn::Vec<D>, P> parameters;
  std::tuple<const T*...> src;
};

/// function(d, parameters, elements...) with parameters that vary from element to element.
template <class D, class C, size_t P, class Function, class... T>
struct VaryingRow {
  static constexpr bool kInterleaves = false;

  HWY_INLINE void fetch(int64_t i, int64_t size) const { fetch_sources(src, i, size, std::index_sequence_for<T...>()); }
  template <class Lanes>
  HWY_INLINE hn::Vec<D> operator()(int64_t i, Lanes lanes) const {
    return call(i, lanes, std::index_sequence_for<T...>(), std::make_index_sequence<P>());
  }
  template <class Lanes, size_t... I, size_t... K>
  HWY_INLINE hn::Vec<D> call(int64_t i, Lanes lanes, std::index_sequence<I...>, std::index_sequence<K...>) const {
    const std::array<hn::Vec<D>, P> now = {load(D(), parameters[K] + i, lanes)...};
    return function(D(), now, load(D(), std::get<I>(src) + i, lanes)...);
  }
  Function function;
  std::array<const C*, P> parameters;
  std::tuple<const T*...> src;
};

/// to[i] = the parameter of element begin + i, for i in [0, size). Writes up to a vector further. One period is made
/// from its runs, and the others are copies.
template <class C>
HWY_INLINE void expand(const Channels& channels, const C* parameters, int64_t begin, int64_t size, C* to) {
  const hn::ScalableTag<C> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t once = std::min(size, channels.count * channels.run);
  for (RunWalk run(channels, begin, begin + once); run.next();) {
    const auto value = hn::Set(d, parameters[run.channel()]);
    for (int64_t i = 0; i < run.size(); i += lanes) hn::StoreU(value, d, to + (run.begin() - begin) + i);
  }
  for (int64_t made = once; made < size; made *= 2)
    std::memcpy(to + made, to, static_cast<size_t>(std::min(made, size - made)) * sizeof(C));
}

/// Rows whose parameters are read as vectors. Not inlined, so that all forms of a walk share one copy of the code.
template <class D, class U, class C, size_t P, class Function, class... T>
HWY_NOINLINE void write_varying(VaryingRow<D, C, P, Function, T...> row, U* dst, int64_t size, bool past_caches) {
  write_row(D(), dst, size, past_caches, row);
}

/// Writes the elements [begin, end) in chunks whose parameters are laid out beside them. One layout serves the same
/// position in every stride of the elements.
template <class C, size_t P, class Function, class U, class... T>
HWY_NOINLINE void write_expanded(const Walk& walk, int64_t stride, int64_t chunk, const Function& function,
                                 const std::array<const C*, P>& parameters, int64_t begin, int64_t end, U* dst,
                                 const T*... src) {
  using D = hn::ScalableTag<C>;
  HWY_ALIGN C laid_out[P == 0 ? 1 : P][kExpanded + hn::MaxLanes(D())];
  for (int64_t first = begin; first < std::min(begin + stride, end); first += chunk) {
    const int64_t most = std::min(chunk, begin + stride - first);
    for (size_t k = 0; k < P; ++k) expand(walk.channels, parameters[k], first, most, laid_out[k]);
    for (int64_t i = first; i < end; i += stride) {
      VaryingRow<D, C, P, Function, T...> row{function, {}, {src + i...}};
      for (size_t k = 0; k < P; ++k) row.parameters[k] = laid_out[k];
      write_varying(row, dst + i, std::min(most, end - i), walk.stream);
    }
  }
}

/// Writes one run of a channel. Uses `Function::Uniform` if it holds for the parameters. For other parameters, which
/// are rare, they are laid out.
template <class C, size_t P, class Function, class U, class... T>
HWY_INLINE void write_uniform(const Walk& walk, const RunWalk& run, const Function& function,
                              const std::array<const C*, P>& parameters, U* dst, const T*... src) {
  using D = hn::ScalableTag<C>;
  std::array<hn::Vec<D>, P> uniform;
  for (size_t k = 0; k < P; ++k) uniform[k] = hn::Set(D(), parameters[k][run.channel()]);
  if constexpr (requires { typename Function::template Uniform<D>; }) {
    using Faster = typename Function::template Uniform<D>;
    if (const Faster faster(function, uniform); faster.holds()) {
      const UniformRow<D, U, 0, Faster, T...> row{faster, {}, {src + run.begin()...}};
      write_row(D(), dst + run.begin(), run.size(), walk.stream, row);
    } else {
      write_expanded(walk, run.size(), kExpanded, function, parameters, run.begin(), run.begin() + run.size(), dst,
                     src...);
    }
  } else {
    const UniformRow<D, U, P, Function, T...> row{function, uniform, {src + run.begin()...}};
    write_row(D(), dst + run.begin(), run.size(), walk.stream, row);
  }
}

/// dst[i] = function(d, parameters of i's channel, src[i]...) for the elements i in [begin, end) of a tensor. C is the
/// type of computation, float or double. `parameters` has P arrays by channel. All pointers are to the first element of
/// their tensor or array. dst may equal one of src. There must be no other overlap.
template <class C, size_t P, class Function, class U, class... T>
void apply(const Walk& walk, const Function& function, const std::array<const C*, P>& parameters, int64_t begin,
           int64_t end, U* dst, const T*... src) {
  const Channels& channels = walk.channels;
  if (walk.form == Walk::Form::runs) {
    for (RunWalk run(channels, begin, end); run.next();) write_uniform(walk, run, function, parameters, dst, src...);
  } else if (walk.form == Walk::Form::columns) {
    for (int64_t i = begin, size = 0; i < end; i += size) {
      const int64_t channel = i % channels.count;
      size = std::min(channels.count - channel, end - i);
      VaryingRow<hn::ScalableTag<C>, C, P, Function, T...> row{function, parameters, {src + i...}};
      for (const C*& at : row.parameters) at += channel;
      write_varying(row, dst + i, size, walk.stream);
    }
  } else {
    write_expanded(walk, std::max(walk.period, walk.chunk), walk.chunk, function, parameters, begin, end, dst, src...);
  }
  if (walk.stream) hwy::FlushStream();
}

/// Copies `size` elements bit by bit.
template <class T>
void copy(const T* src, T* dst, int64_t size, bool past_caches) {
  const hn::ScalableTag<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* from = reinterpret_cast<const uint8_t*>(src);
  auto* to = reinterpret_cast<uint8_t*>(dst);
  int64_t left = size * static_cast<int64_t>(sizeof(T));
  if (past_caches) {
    const auto over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % static_cast<uintptr_t>(lanes));
    const int64_t head = over == 0 ? 0 : std::min(left, lanes - over);
    std::memcpy(to, from, static_cast<size_t>(head));
    for (from += head, to += head, left -= head; left >= lanes; from += lanes, to += lanes, left -= lanes)
      hn::Stream(hn::LoadU(d, from), d, to);
    hwy::FlushStream();
  }
  if (left > 0) std::memcpy(to, from, static_cast<size_t>(left));
}

}  // namespace halfstep::kernels::elements::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_ELEMENTS_INL_H_
