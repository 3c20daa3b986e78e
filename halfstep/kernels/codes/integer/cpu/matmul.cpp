// Products of two values of codes of one byte, as pairs of int16: what a zero point lies away fits, and nothing needs
// to be corrected afterwards.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halfstep/kernels/codes/integer/cpu/matmul.cpp"
#include <algorithm>
#include <memory>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/codes/contraction.h"
#include "halfstep/kernels/codes/integer/step.h"
#include "halfstep/kernels/common/simd/dispatch.h"
#include "halfstep/kernels/ops.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// behind Highway's own headers: it is compiled once for every target
#include "halfstep/kernels/codes/requantize-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_MATMUL
#define HALFSTEP_KERNELS_INTEGER_MATMUL
namespace halfstep::kernels::integer {

/// Columns are padded to whole blocks of vectors, and depth to whole pairs.
inline constexpr int64_t kColumnBlock = 32;
inline constexpr int64_t kRowBlock = 16;

struct MatmulState {
  IntegerMatmul attributes;
  Contraction product;
  arith::Requantizer requantizer;
  void (*multiply)(const MatmulState& state, const int32_t* a, const int16_t* b, int64_t rows, void* out);
  DType out_type;

  int64_t pairs() const { return ceil_div(product.depth, 2); }
  int64_t padded_columns() const { return ceil_div(product.columns, kColumnBlock) * kColumnBlock; }
  /// Of a packed operand b.
  int64_t packed() const { return pairs() * padded_columns() * 2; }
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using codes::HWY_NAMESPACE::CodeLanes;
using codes::HWY_NAMESPACE::Ints;
using codes::HWY_NAMESPACE::IntVec;
using Shorts = hn::Repartition<int16_t, Ints>;

/// a[2i] * b[2i] + a[2i + 1] * b[2i + 1]
HWY_INLINE IntVec products_of_pairs(hn::Vec<Shorts> a, hn::Vec<Shorts> b) {
#if HWY_TARGET == HWY_AVX3
  return IntVec{_mm512_madd_epi16(a.raw, b.raw)};
#else
  return IntVec{_mm256_madd_epi16(a.raw, b.raw)};
#endif
}

/// Sums of R rows and the columns of two vectors; pair p of row r is a[r * pairs + p].
template <int R>
HWY_INLINE void add_products(const int32_t* a, int64_t pairs, const int16_t* b, int64_t step, IntVec (&sums)[R][2]) {
  const Ints d;
  const Shorts shorts;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = hn::Zero(d);
  for (int64_t p = 0; p < pairs; ++p, b += step) {
    const auto first = hn::LoadU(shorts, b), second = hn::LoadU(shorts, b + 2 * lanes);
    for (int r = 0; r < R; ++r) {
      const auto pair = hn::BitCast(shorts, hn::Set(d, a[r * pairs + p]));
      sums[r][0] = sums[r][0] + products_of_pairs(pair, first);
      sums[r][1] = sums[r][1] + products_of_pairs(pair, second);
    }
  }
}

template <int R, class Word, class Code>
HWY_INLINE void multiply_rows(const MatmulState& state, const int32_t* a, const int16_t* b, const Code& code,
                              const CodeLanes<Word>& out_lanes, Word* out) {
  const Ints d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), columns = state.product.columns;
  for (int64_t column = 0; column < columns; column += 2 * lanes) {
    IntVec sums[R][2];
    add_products<R>(a, state.pairs(), b + 2 * column, 2 * state.padded_columns(), sums);
    for (int r = 0; r < R; ++r) {
      for (int v = 0; v < 2; ++v) {
        const int64_t first = column + v * lanes, left = std::min(lanes, columns - first);
        if (left <= 0) break;
        const IntVec codes = code(sums[r][v]);
        Word* to = out + r * columns + first;
        if (left == lanes) {
          out_lanes.store(codes, to);
        } else {
          Word rest[HWY_MAX_BYTES / 4];
          out_lanes.store(codes, rest);
          std::copy_n(rest, left, to);
        }
      }
    }
  }
}

/// `rows` rows of the result, of packed operands.
template <class Word>
void multiply(const MatmulState& state, const int32_t* a, const int16_t* b, int64_t rows, void* out) {
  const IntVec low = hn::Set(Ints(), static_cast<int32_t>(state.attributes.code_min));
  const IntVec high = hn::Set(Ints(), static_cast<int32_t>(state.attributes.code_max));
  const CodeLanes<Word> out_lanes(state.out_type);
  auto* dst = static_cast<Word*>(out);
  codes::HWY_NAMESPACE::with_lanes(
      state.requantizer, static_cast<int32_t>(state.attributes.y_zero_point), [&](const auto& lanes) {
        const auto code = [&](IntVec acc) { return hn::Min(hn::Max(lanes(acc), low), high); };
        int64_t row = 0;
        for (; row + 4 <= rows; row += 4)
          multiply_rows<4>(state, a + row * state.pairs(), b, code, out_lanes, dst + row * state.product.columns);
        for (; row < rows; ++row)
          multiply_rows<1>(state, a + row * state.pairs(), b, code, out_lanes, dst + row * state.product.columns);
      });
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// Codes of a byte lie at most so far from a zero point that is one.
constexpr int64_t kFarthest = 383;

Verdict accept_matmul(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  const IntegerMatmul a(problem.attributes);
  for (const int port : {IntegerMatmul::in::a, IntegerMatmul::in::b}) {
    if (is_wide(problem.in[port]->dtype)) return refuse("it reads codes of 16 bits");
  }
  for (const int64_t zero_point : {a.a_zero_point, a.b_zero_point}) {
    if (zero_point < -128 || zero_point > 255) return refuse("the zero point {} is no code of a byte", zero_point);
  }
  const int64_t depth = Contraction::of(a, problem).depth;
  if (depth > arith::kMostInInt32 / (kFarthest * kFarthest)) return refuse("{} products pass 32 bits", depth);
  return accept();
}

Plan prepare_matmul(const Problem& problem) {
  const IntegerMatmul a(problem.attributes);
  const DType out = problem.out[0]->dtype;
  const auto multiply = is_wide(out) ? HS_SIMD_CHOOSE(problem.level, multiply<uint16_t>)
                                     : HS_SIMD_CHOOSE(problem.level, multiply<uint8_t>);
  const auto state = std::make_shared<MatmulState>(MatmulState{
      a, Contraction::of(a, problem), stored_scale(a.multiplier, a.shift, shift_rounding(a)), multiply, out});
  const Contraction& p = state->product;
  return {.state = state,
          .scratch = static_cast<size_t>(p.batches * state->packed()) * sizeof(int16_t),
          .worker_scratch = static_cast<size_t>(kRowBlock * state->pairs()) * sizeof(int32_t),
          .phases = {p.batches, p.batches * ceil_div(p.rows, kRowBlock)}};
}

/// Pairs of rows of b, each with its columns side by side.
template <class Code>
void pack_b(const MatmulState& state, const Code* b, int16_t* packed) {
  const Contraction& p = state.product;
  const auto zero_point = static_cast<int16_t>(state.attributes.b_zero_point);
  std::fill_n(packed, state.packed(), int16_t{0});
  const int64_t along = p.transpose_b ? 1 : p.columns, across = p.transpose_b ? p.depth : 1;
  for (int64_t k = 0; k < p.depth; ++k) {
    const Code* from = b + k * along;
    int16_t* to = packed + k / 2 * state.padded_columns() * 2 + k % 2;
    for (int64_t column = 0; column < p.columns; ++column)
      to[2 * column] = static_cast<int16_t>(from[column * across] - zero_point);
  }
}

/// Rows of a as pairs, the last of an odd depth with a 0.
template <class Code>
void pack_a(const MatmulState& state, const Code* a, int64_t first_row, int64_t rows, int32_t* packed) {
  const Contraction& p = state.product;
  const auto zero_point = static_cast<int16_t>(state.attributes.a_zero_point);
  auto* to = reinterpret_cast<int16_t*>(packed);
  for (int64_t row = 0; row < rows; ++row, to += 2 * state.pairs()) {
    const Code* from = p.transpose_a ? a + first_row + row : a + (first_row + row) * p.depth;
    const int64_t step = p.transpose_a ? p.rows : 1;
    for (int64_t k = 0; k < p.depth; ++k) to[k] = static_cast<int16_t>(from[k * step] - zero_point);
    if (p.depth % 2 != 0) to[p.depth] = 0;
  }
}

Status run_matmul(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<MatmulState>(call);
  const Contraction& p = state.product;
  auto* b = reinterpret_cast<int16_t*>(call.scratch);
  if (phase == 0) {
    visit_codes(call.in[IntegerMatmul::in::b],
                [&](const auto* src) { pack_b(state, src + piece * p.depth * p.columns, b + piece * state.packed()); });
    return {};
  }
  const int64_t blocks = ceil_div(p.rows, kRowBlock), batch = piece / blocks, first = piece % blocks * kRowBlock;
  const int64_t rows = std::min(kRowBlock, p.rows - first);
  auto* a = reinterpret_cast<int32_t*>(call.worker_scratch);
  visit_codes(call.in[IntegerMatmul::in::a],
              [&](const auto* src) { pack_a(state, src + batch * p.rows * p.depth, first, rows, a); });
  state.multiply(state, a, b + batch * state.packed(), rows,
                 element_of(call.out[0], (batch * p.rows + first) * p.columns));
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_matmul_pairs{"pairs", integer::accept_matmul, integer::prepare_matmul,
                                             integer::run_matmul};

}  // namespace halfstep::kernels
#endif
