// layer_norm and rms_norm of float32 rows that share one row of scales. A row is read again while it is in the
// first-level cache.
#include <fmt/format.h>

#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/norm/rows.h"
#include "halfstep/engine/kernels/ops.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/norm/cpu/forward_rows.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after Highway's own headers, because it is compiled once for every target.
#include "halfstep/engine/kernels/norm/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::norm::HWY_NAMESPACE {

/// Normalizes one row. `bias` may be null.
template <bool centred>
void normalize(const float* x, const float* scale, const float* bias, float epsilon, int64_t size, float* out) {
  const Float d;
  const float mean = centred ? mean_of(x, size) : 0.0F;
  const Vector none = hn::Set(d, -0.0F);  // adding it to -0 keeps -0
  const Vector shift = hn::Set(d, mean), factor = hn::Set(d, inverse_std_of(x, size, mean, epsilon));
  for_vectors(size, [&](int64_t i, int64_t count) {
    const Vector normal = hn::Mul(hn::Sub(load(x + i, count), shift), factor);
    const Vector offset = bias == nullptr ? none : load(bias + i, count);
    store(hn::MulAdd(normal, load(scale + i, count), offset), out + i, count);
  });
}

}  // namespace halfstep::kernels::norm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace norm {
namespace {

/// Elements of a piece, a few microseconds of work.
constexpr int64_t kForwardElements = 16384;

struct ForwardState {
  int64_t rows, size, per_piece;
  float epsilon;
  decltype(&N_AVX2::normalize<true>) normalize;
};

template <class Typed>
Verdict accept_forward(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  for (const Type* type : problem.in) {
    if (type != nullptr && type->dtype != DType::f32)
      return refuse(errors::kernel_takes_other_types("an operand", name(type->dtype), "f32"));
  }
  const Typed a(problem.attributes);
  if constexpr (requires { a.with_statistics; }) {
    if (a.with_statistics) return refuse(errors::kernel_is_for_other_options("statistics as a result", "none"));
  }
  const Dims &x = problem.in[0]->dims, &scale = problem.in[1]->dims;
  const Axis axis(x, a.axis);
  const int64_t size = axis.extent * axis.inner;
  if (size == 0) return refuse(errors::kernel_takes_no_empty_operand("rows"));
  if (!is_tail_of(scale, x) || count_elements(scale) != size)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("scale {}", to_string(scale)),
                                                    fmt::format("one row of x {}", to_string(x))));
  return accept();
}

template <class Typed, bool centred>
Plan prepare_forward(const Problem& problem) {
  const Typed a(problem.attributes);
  const Axis axis(problem.in[0]->dims, a.axis);
  const int64_t size = axis.extent * axis.inner, per_piece = std::max<int64_t>(1, kForwardElements / size);
  return {.state = std::make_shared<ForwardState>(axis.outer, size, per_piece, static_cast<float>(a.epsilon),
                                                  HS_SIMD_CHOOSE(problem.level, normalize<centred>)),
          .phases = {ceil_div(axis.outer, per_piece)}};
}

Status run_forward(const Call& call, int, int64_t piece) {
  const auto& state = state_of<ForwardState>(call);
  const auto* x = call.in[0].as<const float>();
  const float* bias = call.in.size() > 2 ? call.in[2].as<const float>() : nullptr;
  const int64_t end = std::min(state.rows, (piece + 1) * state.per_piece);
  for (int64_t row = piece * state.per_piece; row < end; ++row) {
    const int64_t begin = row * state.size;
    state.normalize(x + begin, call.in[1].as<const float>(), bias, state.epsilon, state.size,
                    call.out[0].as<float>() + begin);
  }
  return {};
}

}  // namespace
}  // namespace norm

extern const Kernel cpu_layer_norm_rows{"rows", norm::accept_forward<LayerNorm>, norm::prepare_forward<LayerNorm, true>,
                                        norm::run_forward};
extern const Kernel cpu_rms_norm_rows{"rows", norm::accept_forward<RmsNorm>, norm::prepare_forward<RmsNorm, false>,
                                      norm::run_forward};

}  // namespace halfstep::kernels
#endif
