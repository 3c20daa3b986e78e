// Softmax and normalizations of rows of codes on vectors.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/codes/integer/cpu/rows.cpp"
#include <memory>

#include "halfstep/engine/kernels/codes/integer/cpu/nhwc_layer.h"
#include "halfstep/engine/kernels/codes/integer/step.h"
#include "halfstep/engine/kernels/codes/rows.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"
#include "halfstep/engine/kernels/ops.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/codes/integer/cpu/byte_rows-inl.h"
#include "halfstep/engine/kernels/codes/rows-inl.h"

#ifndef HALFSTEP_KERNELS_INTEGER_ROWS
#define HALFSTEP_KERNELS_INTEGER_ROWS
namespace halfstep::kernels::integer {

// `run` computes `count` consecutive rows.

struct SoftmaxRows {
  IntegerSoftmax attributes;
  Rows rows;
  arith::FixedScale factor;
  double unit;  ///< 2^-shift, the unit of factor
  DType x_type, y_type;
  void (*run)(const SoftmaxRows& state, const int32_t* fine, const int32_t* coarse, const void* x, void* y,
              int64_t count, int32_t* line);
};

struct NormRows {
  IntegerNorm attributes;
  Rows rows;
  arith::ShiftRounding rounding;
  DType x_type, y_type;
  bool are_bytes;  ///< one-byte codes, few enough for f32. Then `line` has norm_floats
  void (*run)(const NormRows& state, const int32_t* factor, const int64_t* bias, const void* x, void* y, int64_t count,
              int32_t* line);
};

}  // namespace halfstep::kernels::integer
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::integer::HWY_NAMESPACE {

using namespace codes::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace): vectors and their types

template <class Attributes>
ByteTarget byte_target(DType type, const Attributes& a) {
  return {type, clamp_of(a), static_cast<int32_t>(a.y_zero_point)};
}

template <class X, class Y>
void run_softmax_rows(const SoftmaxRows& state, const int32_t* fine, const int32_t* coarse, const void* x, void* y,
                      int64_t count, int32_t* line) {
  const IntegerSoftmax& a = state.attributes;
  const int64_t extent = state.rows.extent;
  const ByteTarget target = byte_target(state.y_type, a);
  const arith::Multiplier factor = state.factor.positive;
  for (int64_t row = 0; row < count; ++row) {
    const X* from = static_cast<const X*>(x) + row * extent;
    Y* to = static_cast<Y*>(y) + row * extent;
    int64_t sum = 0;
    if constexpr (sizeof(X) == 1) {
      sum = byte_exponentials(fine, state.x_type, from, extent, line);
    } else {
      load_row<X>(state.x_type, from, extent, line);
      sum = exponentials(fine, coarse, true, extent, line);
    }
    sum = std::max<int64_t>(1, sum);
    if constexpr (sizeof(Y) == 1) {
      softmax_bytes(line, extent, sum, factor, state.unit, target, to);
    } else {
      softmax_codes(line, extent, sum, factor, target.zero_point, line);
      codes::HWY_NAMESPACE::store_row<Y>(state.y_type, target.clamp, line, extent, to);
    }
  }
}

template <class X, class Y>
void norm_row(const NormRows& state, const NormLine& norm, const X* x, Y* y, int32_t* line) {
  const IntegerNorm& a = state.attributes;
  const int64_t extent = state.rows.extent;
  load_row<X>(state.x_type, x, extent, line);
  const RowSums sums = sums_of(static_cast<int32_t>(a.x_zero_point), extent, line);
  const auto root =
      arith::RowRoot::of(extent, sums.sum, sums.squares, a.centered, a.epsilon, static_cast<int32_t>(a.guard));
  norm_codes(root, norm, extent, line, [](int64_t, DoubleVec) {});
  codes::HWY_NAMESPACE::store_row<Y>(state.y_type, clamp_of(a), line, extent, y);
}

template <class X, class Y>
void run_norm_rows(const NormRows& state, const int32_t* factor, const int64_t* bias, const void* x, void* y,
                   int64_t count, int32_t* line) {
  const IntegerNorm& a = state.attributes;
  const int64_t extent = state.rows.extent;
  const auto* from = static_cast<const X*>(x);
  auto* to = static_cast<Y*>(y);
  if constexpr (sizeof(X) == 1 && sizeof(Y) == 1) {
    if (state.are_bytes) {
      const ByteTarget target = byte_target(state.y_type, a);
      const auto* floats = reinterpret_cast<const float*>(line);
      for (int64_t row = 0; row < count; ++row)
        norm_bytes(a, state.x_type, factor, bias, floats, from + row * extent, extent, target, to + row * extent);
      return;
    }
  }
  const NormLine norm{factor, bias, static_cast<int32_t>(a.shift), state.rounding,
                      static_cast<int32_t>(a.y_zero_point)};
  for (int64_t row = 0; row < count; ++row) norm_row<X, Y>(state, norm, from + row * extent, to + row * extent, line);
}

using RunSoftmax = decltype(SoftmaxRows::run);
using RunNorm = decltype(NormRows::run);

RunSoftmax softmax_of(bool wide_x, bool wide_y) {
  if (wide_x) return wide_y ? &run_softmax_rows<uint16_t, uint16_t> : &run_softmax_rows<uint16_t, uint8_t>;
  return wide_y ? &run_softmax_rows<uint8_t, uint16_t> : &run_softmax_rows<uint8_t, uint8_t>;
}

RunNorm norm_of(bool wide_x, bool wide_y) {
  if (wide_x) return wide_y ? &run_norm_rows<uint16_t, uint16_t> : &run_norm_rows<uint16_t, uint8_t>;
  return wide_y ? &run_norm_rows<uint8_t, uint16_t> : &run_norm_rows<uint8_t, uint8_t>;
}

}  // namespace halfstep::kernels::integer::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace integer {
namespace {

/// Bytes of a row as int32.
size_t line_bytes(const Rows& rows) { return static_cast<size_t>(rows.extent + kSpareLanes) * sizeof(int32_t); }

Verdict accept_rows(const Problem& problem, const Rows& rows, int64_t y_zero_point) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  if (Verdict verdict = accept_zero_point(y_zero_point, problem.out[0]->dtype); !verdict) return verdict;
  if (rows.stride != 1) return refuse(errors::kernel_needs_layout("rows of neighbouring elements"));
  return accept();
}

Rows softmax_rows(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  return Rows::of(problem.in[IntegerSoftmax::in::x]->dims, a.axis, a.flattened);
}

Verdict accept_softmax(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  if (Verdict verdict = accept_rows(problem, softmax_rows(problem), a.y_zero_point); !verdict) return verdict;
  if (shift_rounding(a) != arith::ShiftRounding::half_up)
    return refuse(errors::kernel_is_for_other_options("another rounding of shifts", "half up"));
  const int64_t entries = problem.in[IntegerSoftmax::in::coarse]->dims[0];
  if (is_wide(problem.in[IntegerSoftmax::in::x]->dtype) != (entries > 1))
    return refuse(errors::kernel_is_for_other_options("tables for other codes", "those of the type of x"));
  return accept();
}

Plan prepare_softmax(const Problem& problem) {
  const IntegerSoftmax a(problem.attributes);
  const DType x = problem.in[IntegerSoftmax::in::x]->dtype, y = problem.out[0]->dtype;
  const auto softmax_of = HS_SIMD_CHOOSE(problem.level, softmax_of);
  const Rows rows = softmax_rows(problem);
  const arith::FixedScale factor = stored_scale(a.multiplier, a.shift, shift_rounding(a));
  return {.state = std::make_shared<SoftmaxRows>(SoftmaxRows{a, rows, factor, std::ldexp(1.0, -factor.positive.shift),
                                                             x, y, softmax_of(is_wide(x), is_wide(y))}),
          .worker_scratch = line_bytes(rows),
          .phases = {rows.pieces()}};
}

Status run_softmax(const Call& call, int, int64_t piece) {
  using In = IntegerSoftmax::in;
  const auto& state = state_of<SoftmaxRows>(call);
  const auto [begin, end] = state.rows.piece(piece);
  const int64_t first = begin * state.rows.extent;
  state.run(state, call.in[In::fine].as<const int32_t>(), call.in[In::coarse].as<const int32_t>(),
            element_of(call.in[In::x], first), element_of(call.out[0], first), end - begin,
            reinterpret_cast<int32_t*>(call.worker_scratch));
  return {};
}

Rows norm_rows(const Problem& problem) { return Rows::of(problem.in[IntegerNorm::in::x]->dims, -1); }

Verdict accept_norm(const Problem& problem) {
  return accept_rows(problem, norm_rows(problem), IntegerNorm(problem.attributes).y_zero_point);
}

Plan prepare_norm(const Problem& problem) {
  const IntegerNorm a(problem.attributes);
  const DType x = problem.in[IntegerNorm::in::x]->dtype, y = problem.out[0]->dtype;
  const auto norm_of = HS_SIMD_CHOOSE(problem.level, norm_of);
  const Rows rows = norm_rows(problem);
  const arith::ShiftRounding rounding = shift_rounding(a);
  const bool are_bytes =
      !is_wide(x) && !is_wide(y) && rounding == arith::ShiftRounding::half_up && rows.extent <= N_AVX2::kMostBytes;
  return {.state =
              std::make_shared<NormRows>(NormRows{a, rows, rounding, x, y, are_bytes, norm_of(is_wide(x), is_wide(y))}),
          .worker_scratch = are_bytes ? static_cast<size_t>(3 * rows.extent) * sizeof(float) : line_bytes(rows),
          .phases = {rows.pieces()}};
}

Status run_norm(const Call& call, int, int64_t piece) {
  using In = IntegerNorm::in;
  const auto& state = state_of<NormRows>(call);
  const auto* factor = call.in[In::factor].as<const int32_t>();
  const auto* bias = call.in[In::bias].as<const int64_t>();
  if (state.are_bytes)
    N_AVX2::norm_floats(factor, bias, static_cast<int32_t>(state.attributes.shift), state.rows.extent,
                        reinterpret_cast<float*>(call.worker_scratch));
  const auto [begin, end] = state.rows.piece(piece);
  const int64_t first = begin * state.rows.extent;
  state.run(state, factor, bias, element_of(call.in[In::x], first), element_of(call.out[0], first), end - begin,
            reinterpret_cast<int32_t*>(call.worker_scratch));
  return {};
}

}  // namespace
}  // namespace integer

extern const Kernel cpu_integer_softmax_simd{"simd", integer::accept_softmax, integer::prepare_softmax,
                                             integer::run_softmax};
extern const Kernel cpu_integer_norm_simd{"simd", integer::accept_norm, integer::prepare_norm, integer::run_norm};

}  // namespace halfstep::kernels
#endif
