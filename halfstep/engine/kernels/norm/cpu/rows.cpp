// Gradients of layer_norm and rms_norm. A row is read again while it is in the first-level cache. Sums for scale and
// bias are kept by piece and added at the end, in an order that depends only on the shape.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/norm/rows.h"
#include "halfstep/engine/kernels/ops.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/norm/cpu/rows.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/norm/rows-inl.h"

#ifndef HALFSTEP_KERNELS_NORM_ROWS
#define HALFSTEP_KERNELS_NORM_ROWS
namespace halfstep::kernels::norm {

/// Rows of `size` contiguous elements, and their contributions to the gradients of scale and bias.
struct Rows {
  int64_t count, size;
  const float *x, *scale, *out_grad;
  float *x_grad, *scale_sums, *bias_sums;
  float epsilon;
};

}  // namespace halfstep::kernels::norm
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::norm::HWY_NAMESPACE {
template <bool centred>
HWY_INLINE void differentiate_row(const Rows& r, int64_t begin) {
  const Float d;
  const float *x = r.x + begin, *out_grad = r.out_grad + begin;
  const float mean = centred ? mean_of(x, r.size) : 0.0F;
  const float inverse = inverse_std_of(x, r.size, mean, r.epsilon);
  const Vector shift = hn::Set(d, mean), factor = hn::Set(d, inverse);
  const auto normal = [&](int64_t i, int64_t count) { return hn::Mul(hn::Sub(load(x + i, count), shift), factor); };
  Vector sum = hn::Zero(d), product = hn::Zero(d);
  for_vectors(r.size, [&](int64_t i, int64_t count) {
    const Vector grad = load(out_grad + i, count), n = normal(i, count);
    const Vector along = hn::Mul(grad, load(r.scale + i, count));
    sum = hn::Add(sum, along);
    product = hn::MulAdd(along, n, product);
    store(hn::MulAdd(grad, n, load(r.scale_sums + i, count)), r.scale_sums + i, count);
    if (centred) store(hn::Add(grad, load(r.bias_sums + i, count)), r.bias_sums + i, count);
  });
  const auto size = static_cast<float>(r.size);
  const Vector offset = hn::Set(d, centred ? total(sum) / size : 0.0F);
  const Vector slope = hn::Set(d, total(product) / size);
  for_vectors(r.size, [&](int64_t i, int64_t count) {
    const Vector along = hn::Mul(load(out_grad + i, count), load(r.scale + i, count));
    const Vector rest = hn::NegMulAdd(normal(i, count), slope, hn::Sub(along, offset));
    store(hn::Mul(rest, factor), r.x_grad + begin + i, count);
  });
}

template <bool centred>
void differentiate(const Rows& rows) {
  for (int64_t row = 0; row < rows.count; ++row) differentiate_row<centred>(rows, row * rows.size);
}

}  // namespace halfstep::kernels::norm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace norm {
namespace {

/// Columns that a piece of the final sums adds.
constexpr int64_t kColumns = 64;
/// Elements of a piece, and limits of its rows. Few enough rows that float32 can hold their sum, and enough that the
/// sums of each piece are small compared with the rows.
constexpr int64_t kPieceElements = 16384, kLeastRows = 16, kMostRows = 128;

struct State {
  int64_t rows, size, per_piece;
  float epsilon;
  decltype(&N_AVX2::differentiate<true>) differentiate;

  int64_t pieces() const { return ceil_div(rows, per_piece); }
};

Verdict accept_rows(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  for (size_t i = 0; i < problem.in.size(); ++i) {
    if ((problem.in[i] != nullptr) != (i <= LayerNormGrad::in::out_grad))
      return refuse(errors::kernel_is_for_other_options("gradients of statistics", "a gradient of the result alone"));
    if (i <= LayerNormGrad::in::out_grad && problem.in[i]->dtype != DType::f32)
      return refuse(errors::kernel_takes_other_types("an operand", name(problem.in[i]->dtype), "f32"));
  }
  const Dims &x = problem.in[0]->dims, &scale = problem.in[1]->dims;
  const Axis axis(x, LayerNormGrad(problem.attributes).axis);
  const int64_t size = axis.extent * axis.inner;
  if (size == 0) return refuse(errors::kernel_takes_no_empty_operand("rows"));
  if (!is_tail_of(scale, x) || count_elements(scale) != size)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("scale {}", to_string(scale)),
                                                    fmt::format("one row of x {}", to_string(x))));
  return accept();
}

template <bool centred>
Plan prepare(const Problem& problem) {
  const LayerNormGrad a(problem.attributes);
  const Axis axis(problem.in[0]->dims, a.axis);
  const int64_t size = axis.extent * axis.inner, rows = axis.outer;
  const int64_t per_piece = std::clamp(kPieceElements / size, kLeastRows, kMostRows);
  auto state = std::make_shared<State>(rows, size, per_piece, static_cast<float>(a.epsilon),
                                       HS_SIMD_CHOOSE(problem.level, differentiate<centred>));
  const int64_t pieces = state->pieces();
  return {.state = std::move(state),
          .scratch = static_cast<size_t>(2 * pieces * size) * sizeof(float),
          .phases = {pieces, ceil_div(size, kColumns)}};
}

void run_piece(const Call& call, const State& state, int64_t piece) {
  const int64_t first = piece * state.per_piece, begin = first * state.size;
  float* sums = reinterpret_cast<float*>(call.scratch) + 2 * piece * state.size;
  std::fill_n(sums, 2 * state.size, 0.0F);
  state.differentiate({std::min(state.per_piece, state.rows - first), state.size, call.in[0].as<const float>() + begin,
                       call.in[1].as<const float>(), call.in[2].as<const float>() + begin,
                       call.out[0].as<float>() + begin, sums, sums + state.size, state.epsilon});
}

/// Adds the sums of all pieces. They start at element `first` of the sums of each piece.
void add_pieces(const Call& call, const State& state, int64_t first, int64_t piece, float* dst) {
  const int64_t begin = piece * kColumns, count = std::min(kColumns, state.size - begin);
  const float* src = reinterpret_cast<const float*>(call.scratch) + first + begin;
  double sums[kColumns] = {};
  for (int64_t part = 0; part < state.pieces(); ++part, src += 2 * state.size) {
    for (int64_t i = 0; i < count; ++i) sums[i] += double{src[i]};
  }
  for (int64_t i = 0; i < count; ++i) dst[begin + i] = static_cast<float>(sums[i]);
}

Status run(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<State>(call);
  if (phase == 0) {
    run_piece(call, state, piece);
    return {};
  }
  add_pieces(call, state, 0, piece, call.out[1].as<float>());
  if (call.out.size() > 2) add_pieces(call, state, state.size, piece, call.out[2].as<float>());
  return {};
}

}  // namespace
}  // namespace norm

extern const Kernel cpu_layer_norm_grad_rows{"rows", norm::accept_rows, norm::prepare<true>, norm::run};
extern const Kernel cpu_rms_norm_grad_rows{"rows", norm::accept_rows, norm::prepare<false>, norm::run};

}  // namespace halfstep::kernels
#endif
