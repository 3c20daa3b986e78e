// Elements of every type as vectors of float or double, and the loop over elements with parameters by channel. Included
// once per Highway target.
//
// A kernel file writes
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

#include "halfstep/base/small_float.h"
#include "halfstep/kernels/elements.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::elements::HWY_NAMESPACE {
#if HS_SIMD_TARGET

namespace hn = hwy::HWY_NAMESPACE;

/// How many lanes of a vector count: all, or the first `count`, fewer than all. Memory behind them is neither read nor
/// written; lanes behind them are 0.
struct Whole {};
struct Part {
  int64_t count;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// The lane that an element lies in.
template <class T>
using Lane = std::conditional_t<kIsHalf<T>, uint16_t, T>;
/// Vector of as many elements as D has lanes.
template <class T, class D>
using Packed = hn::Rebind<Lane<T>, D>;

/// Whether the target reads and writes parts of a vector of such lanes; AVX2 knows masks of 4 and 8 bytes alone.
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

/// Elements of type T in the lanes of D; exact but from double or int32 to float, which round to nearest.
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

/// Words whose upper halves are the floats of v, rounded half to even; Highway's own conversion truncates.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> bfloat16_words(D, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1U));
  const auto rounded = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7FFFU)));
  const auto quiet = hn::Or(bits, hn::Set(d, 0x400000U));
  return hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(v)), quiet, rounded);
}

/// The lanes of D as elements of type T. Float types are rounded half to even (base/small_float.h; NaN may differ in
/// payload). Integers saturate; their lanes must be whole numbers of at most 31 bits, and not NaN.
template <class T, class D>
HWY_INLINE hn::Vec<Packed<T, D>> narrow(D d, hn::Vec<D> v) {
  using C = hn::TFromD<D>;
  const Packed<T, D> packed;
  if constexpr (std::is_same_v<T, C>) {
    return v;
  } else if constexpr (std::is_same_v<C, double>) {
    static_assert(!kIsHalf<T>, "rounding twice is not rounding");
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, int32_t>) {
      return hn::DemoteTo(packed, v);
    } else {
      return hn::DemoteTo(packed, hn::DemoteTo(hn::Rebind<int32_t, D>(), v));
    }
  } else if constexpr (std::is_same_v<T, Half>) {
    // F16C, which every AVX2 target has: rounds as asked whatever the environment, subnormals kept.
    return hn::BitCast(packed, hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return hn::TruncateTo(packed, hn::ShiftRight<16>(bfloat16_words(d, v)));
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return hn::ConvertTo(packed, v);
  } else {
    static_assert(std::is_integral_v<T> && sizeof(T) <= 2);
    return hn::DemoteTo(packed, hn::ConvertTo(hn::RebindToSigned<D>(), v));
  }
}

/// v rounded to the values of T.
template <class T, class D>
HWY_INLINE hn::Vec<D> rounded_to(D d, hn::Vec<D> v) {
  return widen<T>(d, narrow<T>(d, v));
}

/// src[0], src[1], ... in the lanes of D.
template <class D, class T, class Lanes = Whole>
HWY_INLINE hn::Vec<D> load(D d, const T* src, Lanes lanes = {}) {
  if constexpr (std::is_same_v<T, double> && std::is_same_v<hn::TFromD<D>, float>) {
    // Two vectors of doubles make one of floats; each lane is rounded once.
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

/// A vector of elements of four or eight bytes past the caches. dst is aligned to the vector; hwy::FlushStream() must
/// follow before others may look.
template <class D, class T>
HWY_INLINE void stream(D d, hn::Vec<D> v, T* dst) {
  static_assert(sizeof(T) == sizeof(hn::TFromD<D>));
  hn::Stream(narrow<T>(d, v), Packed<T, D>(), dst);
}

/// dst[0], dst[1], ... = the block of the row that starts at element i. A block is a vector, or two of elements of two
/// bytes.
template <class D, class T, class Row>
HWY_INLINE void write_block(D d, T* dst, const Row& row, int64_t i) {
  if constexpr (Row::kInterleaves) {
    const hn::RebindToUnsigned<D> words;
    const auto [even, odd] = row.interleaved(i);
    const auto upper = hn::And(bfloat16_words(d, odd), hn::Set(words, 0xFFFF0000U));
    const auto both = hn::Or(upper, hn::ShiftRight<16>(bfloat16_words(d, even)));
    auto* to = reinterpret_cast<uint32_t*>(dst);
    hn::StoreU(both, words, to);
  } else {
    store(d, row(i, Whole()), dst);
  }
}

/// Writes small elements past the caches by way of a small buffer, as far as whole buffers go; returns the element
/// after them. There is more arithmetic for each cache line, and stores past the caches that come singly in between are
/// slower than plain ones.
template <class D, class T, class Row>
HWY_INLINE int64_t write_bursts(D d, T* dst, const Row& row, int64_t begin, int64_t end) {
  constexpr int64_t kBytes = 2048;
  constexpr int64_t kBurst = kBytes / sizeof(T);
  constexpr int64_t kBlock = (Row::kInterleaves ? 2 : 1) * hn::MaxLanes(D());
  using Bytes = hn::ScalableTag<uint8_t>;
  HWY_ALIGN uint8_t burst[kBytes];  // not of T, which may start as zeros for each row
  auto* elements = reinterpret_cast<T*>(burst);
  for (; begin + kBurst <= end; begin += kBurst) {
    for (int64_t i = 0; i < kBurst; i += kBlock) write_block(d, elements + i, row, begin + i);
    auto* to = reinterpret_cast<uint8_t*>(dst + begin);
    for (int64_t i = 0; i < kBytes; i += hn::MaxLanes(Bytes()))
      hn::Stream(hn::Load(Bytes(), burst + i), Bytes(), to + i);
  }
  return begin;
}

/// dst[i] = row(i, lanes) for i in [0, size), block by block; `row` is called with Whole or with Part.
template <class D, class T, class Row>
HWY_INLINE void write_row(D d, T* dst, int64_t size, bool past_caches, const Row& row) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t block = Row::kInterleaves ? 2 * lanes : lanes;
  int64_t i = 0;
  const auto write_rest = [&](int64_t end) HWY_ATTR {
    for (; i + lanes <= end; i += lanes) store(d, row(i, Whole()), dst + i);
    if (i < end) store(d, row(i, Part{end - i}), dst + i, Part{end - i});
    i = end;
  };
  constexpr bool kSingly = sizeof(T) == sizeof(hn::TFromD<D>);
  if (past_caches && (Row::kBursts || kSingly)) {
    constexpr auto kVector = static_cast<int64_t>(hn::MaxLanes(D()) * sizeof(hn::TFromD<D>));
    const auto over = static_cast<int64_t>(reinterpret_cast<uintptr_t>(dst) % static_cast<uintptr_t>(kVector));
    if (over != 0) write_rest(std::min(size, (kVector - over) / static_cast<int64_t>(sizeof(T))));
    if constexpr (Row::kBursts) {
      i = write_bursts(d, dst, row, i, size);
    } else if constexpr (kSingly) {
      for (; i + block <= size; i += block) stream(d, row(i, Whole()), dst + i);
    }
  }
  for (; i + block <= size; i += block) write_block(d, dst + i, row, i);
  write_rest(size);
}

/// function(d, parameters, elements...) where the parameters stand still. From bf16 to bf16 (U) two vectors are taken
/// out of words: the even elements, then the odd ones, which costs less than to keep the order.
template <class D, class U, size_t P, class Function, class... T>
struct StillRow {
  static constexpr bool kInterleaves = (std::is_same_v<U, BFloat16> && ... && std::is_same_v<T, BFloat16>);
  static constexpr bool kBursts = sizeof(U) < sizeof(hn::TFromD<D>);

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
  const Function& function;
  std::array<hn::Vec<D>, P> parameters;
  std::tuple<const T*...> src;
};

/// The same where each element has its own.
template <class D, class C, size_t P, class Function, class... T>
struct MovingRow {
  static constexpr bool kInterleaves = false, kBursts = false;

  template <class Lanes>
  HWY_INLINE hn::Vec<D> operator()(int64_t i, Lanes lanes) const {
    return call(i, lanes, std::index_sequence_for<T...>(), std::make_index_sequence<P>());
  }
  template <class Lanes, size_t... I, size_t... K>
  HWY_INLINE hn::Vec<D> call(int64_t i, Lanes lanes, std::index_sequence<I...>, std::index_sequence<K...>) const {
    const std::array<hn::Vec<D>, P> now = {load(D(), parameters[K] + i, lanes)...};
    return function(D(), now, load(D(), std::get<I>(src) + i, lanes)...);
  }
  const Function& function;
  std::array<const C*, P> parameters;
  std::tuple<const T*...> src;
};

/// to[i] = the parameter of element begin + i, for i in [0, size); writes up to a vector further.
template <class C>
HWY_INLINE void expand(const Channels& channels, const C* parameters, int64_t begin, int64_t size, C* to) {
  const hn::ScalableTag<C> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (RunWalk run(channels, begin, begin + size); run.next();) {
    const auto value = hn::Set(d, parameters[run.channel()]);
    for (int64_t i = 0; i < run.size(); i += lanes) hn::StoreU(value, d, to + (run.begin() - begin) + i);
  }
}

/// dst[i] = function(d, parameters of i's channel, src[i]...) for the elements i in [begin, end) of a tensor. C is
/// float or double, the type that is computed in; `parameters` are P arrays by channel. All pointers are to the first
/// element of their tensor or array. dst may be one of src, no other overlap.
template <class C, size_t P, class Function, class U, class... T>
void apply(const Walk& walk, const Function& function, const std::array<const C*, P>& parameters, int64_t begin,
           int64_t end, U* dst, const T*... src) {
  using D = hn::ScalableTag<C>;
  const D d;
  const Channels& channels = walk.channels;
  if (walk.form == Walk::Form::runs) {
    for (RunWalk run(channels, begin, end); run.next();) {
      StillRow<D, U, P, Function, T...> row{function, {}, {src + run.begin()...}};
      for (size_t k = 0; k < P; ++k) row.parameters[k] = hn::Set(d, parameters[k][run.channel()]);
      write_row(d, dst + run.begin(), run.size(), walk.stream, row);
    }
  } else if (walk.form == Walk::Form::columns) {
    for (int64_t i = begin, size = 0; i < end; i += size) {
      const int64_t channel = i % channels.count;
      size = std::min(channels.count - channel, end - i);
      MovingRow<D, C, P, Function, T...> row{function, parameters, {src + i...}};
      for (const C*& at : row.parameters) at += channel;
      write_row(d, dst + i, size, walk.stream, row);
    }
  } else {
    // One layout serves the same place of every period, or of every few periods, that the elements pass through.
    HWY_ALIGN C laid_out[P == 0 ? 1 : P][kExpanded + hn::MaxLanes(D())];
    const int64_t stride = std::max(walk.period, walk.chunk);
    for (int64_t first = begin; first < std::min(begin + stride, end); first += walk.chunk) {
      const int64_t most = std::min(walk.chunk, begin + stride - first);
      for (size_t k = 0; k < P; ++k) expand(channels, parameters[k], first, most, laid_out[k]);
      for (int64_t i = first; i < end; i += stride) {
        MovingRow<D, C, P, Function, T...> row{function, {}, {src + i...}};
        for (size_t k = 0; k < P; ++k) row.parameters[k] = laid_out[k];
        write_row(d, dst + i, std::min(most, end - i), walk.stream, row);
      }
    }
  }
  if (walk.stream) hwy::FlushStream();
}

/// The bits of `size` elements.
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

#endif  // HS_SIMD_TARGET
}  // namespace halfstep::kernels::elements::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFSTEP_KERNELS_ELEMENTS_INL_H_
