#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_codes.h"

#include <algorithm>

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/nhwc_codes.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/integer/cpu/lane_codes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

/// Stores a vector of the codes of up to kPixels whole rows.
template <int kPixels, class V, class Code>
HWY_INLINE void store_rows(V codes, int64_t pixels, int64_t step, Code* dst) {
  const hn::DFromV<V> d;
  if constexpr (kPixels == 1) {
    hn::StoreU(codes, d, dst);
  } else {
    constexpr int kHalf = kPixels / 2;
    store_rows<kHalf>(hn::LowerHalf(codes), pixels, step, dst);
    if (pixels > kHalf)
      store_rows<kHalf>(hn::UpperHalf(hn::Half<hn::DFromV<V>>(), codes), pixels - kHalf, step, dst + kHalf * step);
  }
}

/// Converts rows of sums to codes. A row has kVectors vectors. If not kWhole, only the first codes of a row are stored.
/// Each turn takes whole rows that fill whole vectors of codes.
template <class Lanes, class Code, int kVectors, bool kWhole>
void rows_to_codes(const CodeRange& range, const TileCodes& tile) {
  constexpr int kSums = Codes<Code>::kSums, kTurn = std::max(kVectors, kSums), kPixels = kTurn / kVectors;
  constexpr int64_t kRow = kVectors * kIntLanes;
  constexpr auto kBytes = static_cast<int64_t>(sizeof(Code));
  Lanes lanes[kVectors];
  HS_UNROLL for (int v = 0; v < kVectors; ++v) lanes[v].set({tile.steps, v}, range);
  const Codes<Code> codes(range);
  const int64_t step = tile.step;
  const int32_t* acc = tile.acc;
  auto* dst = static_cast<Code*>(tile.dst);
  for (int64_t left = tile.pixels; left > 0; left -= kPixels, acc += kPixels * kBlockOutputs, dst += kPixels * step) {
    IntVec steps[kTurn];
    HS_UNROLL for (int i = 0; i < kTurn; ++i) steps[i] =
        lanes[i % kVectors].steps(hn::Load(Ints(), acc + i / kVectors * kBlockOutputs + i % kVectors * kIntLanes));
    if constexpr (kWhole) {
      HS_UNROLL for (int i = 0; i < kTurn; i += kSums)
          store_rows<kPixels>(codes.in_order(steps + i), left, step, dst + i * kIntLanes);
    } else {
      alignas(64) Code rows[kTurn * kIntLanes];
      HS_UNROLL for (int i = 0; i < kTurn; i += kSums)
          hn::Store(codes.in_order(steps + i), hn::Repartition<Code, Ints>(), rows + i * kIntLanes);
      HS_UNROLL for (int p = 0; p < kPixels; ++p) {
        if (p < left) store_row<kRow * kBytes>(rows + p * kRow, tile.channels * kBytes, dst + p * step);
      }
    }
  }
}

template <class Lanes, class Code>
void to_codes(const CodeRange& range, const TileCodes& tile) {
  constexpr int kPart = kLanes / kIntLanes;
  switch (tile.channels) {
    case kLanes: return rows_to_codes<Lanes, Code, kPart, true>(range, tile);
    case 2 * kLanes: return rows_to_codes<Lanes, Code, 2 * kPart, true>(range, tile);
    default: break;
  }
  tile.channels < kLanes ? rows_to_codes<Lanes, Code, kPart, false>(range, tile)
                         : rows_to_codes<Lanes, Code, 2 * kPart, false>(range, tile);
}

template <class Code>
CodesOfForm codes_to(arith::Requantization form, arith::ShiftRounding rounding) {
  const auto choose = []<class Lanes>() -> ToCodes { return &to_codes<Lanes, Code>; };
  const auto [general, plain] = lanes_of(form, rounding, choose);
  return {general, plain};
}

CodesOfForm codes_of(arith::Requantization form, arith::ShiftRounding rounding, bool wide_out) {
  return wide_out ? codes_to<uint16_t>(form, rounding) : codes_to<uint8_t>(form, rounding);
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels::integer {

CodesOfForm choose_codes(CpuLevel level, arith::Requantization form, arith::ShiftRounding rounding, bool wide_out) {
  return HS_SIMD_CHOOSE(level, codes_of)(form, rounding, wide_out);
}

}  // namespace halfstep::kernels::integer
#endif
