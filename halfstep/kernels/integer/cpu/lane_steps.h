// From accumulators to codes where the lanes of a vector are channels.
#pragma once

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"        // what GCC 12's own header does on purpose
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // NOLINT: clang does not know it
#include <immintrin.h>
#pragma GCC diagnostic pop

#include "halfstep/arith/requantizer.h"

namespace halfstep::kernels::integer {

#define HS_LANES __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define HS_LANES_INLINE HS_LANES inline __attribute__((always_inline))

inline constexpr int64_t kLanes = 16;

/// What scales the accumulators of 16 channels; zeros in lanes without one.
struct alignas(64) LaneSteps {
  int32_t bias[kLanes];  ///< with what the zero point of x adds
  float factor[kLanes];  ///< of float32; the others have multipliers
  int32_t multiplier[kLanes], shift[kLanes];
  int32_t negative_multiplier[kLanes], negative_shift[kLanes];  ///< for sums below zero

  void set(int64_t lane, int32_t with_bias, const arith::Requantizer& requantizer) {
    bias[lane] = with_bias;
    if (const auto* real = std::get_if<arith::FloatScale>(&requantizer)) {
      factor[lane] = real->factor;
      return;
    }
    const auto& [positive, negative, rounding] = std::get<arith::FixedScale>(requantizer);
    multiplier[lane] = positive.m;
    shift[lane] = positive.shift;
    negative_multiplier[lane] = negative.m;
    negative_shift[lane] = negative.shift;
  }
};

/// What all channels of a layer share: a clamp within a byte.
struct CodeRange {
  int32_t zero_point = 0;
  arith::Clamp clamp;
};

/// Steps of four vectors as codes of a byte: each 16-byte part of the result has, one behind the other, the four codes
/// of that part of each vector.
class ByteCodes {
 public:
  HS_LANES_INLINE explicit ByteCodes(const CodeRange& range)
      : zero_point_(_mm512_set1_epi16(static_cast<int16_t>(range.zero_point))),
        low_(_mm512_set1_epi8(static_cast<char>(range.clamp.low))),
        high_(_mm512_set1_epi8(static_cast<char>(range.clamp.high))) {}

  /// Steps beyond 16 bits saturate, and with the zero point they still lie beyond a byte.
  HS_LANES_INLINE __m512i operator()(__m512i a, __m512i b, __m512i c, __m512i d) const {
    const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero_point_);
    const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(c, d), zero_point_);
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(ab, cd), low_), high_);
  }
  /// The same with the 16 codes of each vector one behind the other.
  HS_LANES_INLINE __m512i in_order(__m512i a, __m512i b, __m512i c, __m512i d) const {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, (*this)(a, b, c, d));
  }

 private:
  __m512i zero_point_, low_, high_;
};

/// The float32 form: steps before the zero point. What lies beyond int32 becomes its end.
class FloatLanes {
 public:
  HS_LANES_INLINE FloatLanes(const LaneSteps& steps, const CodeRange&)
      : factor_(_mm512_load_ps(steps.factor)), most_(_mm512_set1_ps(arith::kMostSteps)) {}

  HS_LANES_INLINE __m512i operator()(__m512i acc) const {
    // Below its range the conversion gives the least int32.
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(acc), factor_), most_));
  }

 private:
  __m512 factor_, most_;
};

HS_LANES_INLINE __m512i odd_of(__m512i v) { return _mm512_srli_epi64(v, 32); }
HS_LANES_INLINE __m512i to_odd(__m512i v) { return _mm512_slli_epi64(v, 32); }

/// The forms with shifts: steps before the zero point, clamped.
class FixedLanes {
 public:
  HS_LANES_INLINE FixedLanes(const LaneSteps& steps, const CodeRange& range)
      : positive_(steps.multiplier, steps.shift),
        negative_(steps.negative_multiplier, steps.negative_shift),
        low_(_mm512_set1_epi64(range.clamp.low - range.zero_point)),
        high_(_mm512_set1_epi64(range.clamp.high - range.zero_point)) {}

  HS_LANES_INLINE __m512i operator()(__m512i acc) const {
    const __mmask16 below = _mm512_movepi32_mask(acc);
    return _mm512_mask_mov_epi32(scaled(positive_, acc), below, scaled(negative_, acc));
  }

 private:
  /// Shifts and halves of even and odd lanes.
  struct Factor {
    HS_LANES_INLINE Factor(const int32_t* m, const int32_t* k) : multiplier(_mm512_load_si512(m)) {
      const __m512i shifts = _mm512_load_si512(k), one = _mm512_set1_epi64(1);
      even_shift = odd_of(to_odd(shifts));
      odd_shift = odd_of(shifts);
      // A lane without a channel has shift 0 and any half.
      even_half = _mm512_sllv_epi64(one, _mm512_sub_epi64(even_shift, one));
      odd_half = _mm512_sllv_epi64(one, _mm512_sub_epi64(odd_shift, one));
    }
    __m512i multiplier, even_shift, odd_shift, even_half, odd_half;
  };

  HS_LANES_INLINE __m512i clamped_steps(__m512i products, __m512i half, __m512i shift) const {
    const __m512i steps = _mm512_srav_epi64(_mm512_add_epi64(products, half), shift);
    return _mm512_max_epi64(_mm512_min_epi64(steps, high_), low_);
  }
  HS_LANES_INLINE __m512i scaled(const Factor& f, __m512i acc) const {
    const __m512i even = _mm512_mul_epi32(acc, f.multiplier);
    const __m512i odd = _mm512_mul_epi32(odd_of(acc), odd_of(f.multiplier));
    return _mm512_mask_mov_epi32(clamped_steps(even, f.even_half, f.even_shift), 0xAAAA,
                                 to_odd(clamped_steps(odd, f.odd_half, f.odd_shift)));
  }

  Factor positive_, negative_;
  __m512i low_, high_;
};

}  // namespace halfstep::kernels::integer
