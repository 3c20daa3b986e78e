// Gradients of PyTorch's learned quantizers on vectors, in one pass. Sums keep the order of SumBlocks, so that every
// level has the bits of the reference. They go along the runs of a channel. If runs are short, they go across rows,
// with one sum for each column, the only element of its lane.
#define HS_LEVEL_SOURCE "halfstep/engine/kernels/quantizers/torch/cpu/learnable_grad.cpp"
#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/simd/elements-inl.h"
#include "halfstep/engine/kernels/quantizers/torch/cpu/rule-inl.h"
#include "halfstep/engine/kernels/quantizers/torch/learnable.h"

#ifndef HALFSTEP_KERNELS_TORCH_CPU_LEARNABLE_GRAD_ONCE
#define HALFSTEP_KERNELS_TORCH_CPU_LEARNABLE_GRAD_ONCE
namespace halfstep::kernels::torch {

/// A slice of a run: parameters of its channel, and kSumLanes lanes for each sum.
struct Slice {
  Parameters parameters;
  bool stream;  ///< results bypass the caches
  int64_t size;
  int64_t to_next;  ///< elements from the begin of this slice to the next
  double *scale_lanes, *zero_lanes;
};
using SliceFunction = void (*)(const LearnableGrad& grad, const Slice& slice, const void* src, const void* out_grad,
                               void* dst, int64_t begin);

/// Some columns of some rows. Arrays of parameters and sums by column are padded to whole vectors.
struct Columns {
  int64_t rows, row_size, count;
  const void *scale, *inverse, *zero_point;  ///< arrays in the type of computation
  double *scale_sums, *zero_sums;
};
using ColumnsFunction = void (*)(const LearnableGrad& grad, const Columns& columns, const void* src,
                                 const void* out_grad, void* dst, int64_t begin);

}  // namespace halfstep::kernels::torch
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::torch::HWY_NAMESPACE {

namespace simd = elements::HWY_NAMESPACE;
using F64 = hn::ScalableTag<double>;
constexpr int64_t kWide = hn::MaxLanes(F64());

template <class V>
struct TermVectors {
  V x, scale, zero_point;
};

/// torch::learnable_terms on vectors.
template <class D>
class LearnableTerms {
 public:
  using V = hn::Vec<D>;
  explicit LearnableTerms(const LearnableGrad& grad) : clamp_(D(), grad.grid), factor_(set_float(D(), grad.factor)) {}

  HWY_INLINE TermVectors<V> operator()(const ParameterVectors<V>& p, V x, V out_grad) const {
    const V fused = fused_code_of(p, x);
    const auto inside = clamp_.inside(fused);
    const V steps = hn::Sub(clamp_.integer(fused), p[kZeroPoint]);
    const V error = hn::MulSub(steps, p[kScale], x);
    const V slope = hn::IfThenElse(inside, hn::Mul(hn::Mul(out_grad, error), p[kInverse]), hn::Mul(out_grad, steps));
    const V zero = hn::Mul(hn::Mul(out_grad, hn::Neg(p[kScale])), factor_);
    return {masked(D(), out_grad, inside), hn::Mul(slope, factor_), hn::IfThenZeroElse(inside, zero)};
  }

 private:
  Clamp<D> clamp_;
  V factor_;
};

/// Vectors of doubles that hold one vector of terms.
template <class D>
constexpr int64_t kWides = static_cast<int64_t>(hn::MaxLanes(D())) / kWide;

/// Adds the terms to sums[0], sums[1], ... in their order.
template <class D>
HWY_INLINE void add_terms(D, hn::Vec<D> terms, hn::Vec<F64>* sums) {
  if constexpr (kIsFloat<D>) {
    const hn::Half<D> half;
    sums[0] = hn::Add(sums[0], hn::PromoteTo(F64(), hn::LowerHalf(half, terms)));
    sums[1] = hn::Add(sums[1], hn::PromoteTo(F64(), hn::UpperHalf(half, terms)));
  } else {
    sums[0] = hn::Add(sums[0], terms);
  }
}

/// Like add_terms, with sums in memory.
template <class D>
HWY_INLINE void add_terms_to(D d, hn::Vec<D> terms, double* sums) {
  hn::Vec<F64> loaded[kWides<D>];
  for (int64_t k = 0; k < kWides<D>; ++k) loaded[k] = hn::LoadU(F64(), sums + k * kWide);
  add_terms(d, terms, loaded);
  for (int64_t k = 0; k < kWides<D>; ++k) hn::StoreU(loaded[k], F64(), sums + k * kWide);
}

template <class T>
void learnable_slice(const LearnableGrad& grad, const Slice& slice, const void* src_begin, const void* grad_begin,
                     void* dst_begin, int64_t begin) {
  using D = hn::ScalableTag<Compute<T>>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  constexpr int64_t kSums = kSumLanes / kWide;
  constexpr int64_t kAhead = simd::kAhead / static_cast<int64_t>(sizeof(T));
  const T* src = static_cast<const T*>(src_begin) + begin;
  const T* out_grad = static_cast<const T*>(grad_begin) + begin;
  T* dst = static_cast<T*>(dst_begin) + begin;
  const LearnableTerms<D> terms_of(grad);
  const Parameters& at = slice.parameters;
  const ParameterVectors<hn::Vec<D>> p = {set_float(d, at.scale), set_float(d, at.inverse),
                                          set_float(d, at.zero_point)};
  hn::Vec<F64> scale_sums[kSums];
  hn::Vec<F64> zero_sums[kSums];
  for (int64_t k = 0; k < kSums; ++k) {
    scale_sums[k] = hn::LoadU(F64(), slice.scale_lanes + k * kWide);
    zero_sums[k] = hn::LoadU(F64(), slice.zero_lanes + k * kWide);
  }
  // Stores of half a cache line are slower when they bypass the caches.
  const bool stream =
      slice.stream && sizeof(T) == sizeof(Compute<T>) && reinterpret_cast<uintptr_t>(dst) % (kLanes * sizeof(T)) == 0;
  int64_t i = 0;
  for (; i + kSumLanes <= slice.size; i += kSumLanes) {
    for (int64_t k = 0; k < kSumLanes; k += kLanes) {
      const auto terms = terms_of(p, simd::load(d, src + i + k), simd::load(d, out_grad + i + k));
      const int64_t ahead = i + k + (i + k + kAhead < slice.size ? 0 : slice.to_next - slice.size);
      simd::fetch_ahead(src + ahead, kLanes * sizeof(T));
      simd::fetch_ahead(out_grad + ahead, kLanes * sizeof(T));
      if (stream) {
        hn::Stream(simd::narrow<T>(d, terms.x), simd::Packed<T, D>(), reinterpret_cast<simd::Lane<T>*>(dst) + i + k);
      } else {
        simd::store(d, terms.x, dst + i + k);
      }
      add_terms(d, terms.scale, scale_sums + k / kWide);
      add_terms(d, terms.zero_point, zero_sums + k / kWide);
    }
  }
  if (stream) hwy::FlushStream();
  for (int64_t k = 0; k < kSums; ++k) {
    hn::StoreU(scale_sums[k], F64(), slice.scale_lanes + k * kWide);
    hn::StoreU(zero_sums[k], F64(), slice.zero_lanes + k * kWide);
  }
  for (int64_t lane = 0; i < slice.size; i += kLanes, lane += kLanes) {
    const int64_t count = std::min(kLanes, slice.size - i);
    const auto valid = hn::FirstN(d, static_cast<size_t>(count));
    const simd::Part part{count};
    const auto x = count == kLanes ? simd::load(d, src + i) : simd::load(d, src + i, part);
    const auto dy = count == kLanes ? simd::load(d, out_grad + i) : simd::load(d, out_grad + i, part);
    const auto terms = terms_of(p, x, dy);
    if (count == kLanes) {
      simd::store(d, terms.x, dst + i);
    } else {
      simd::store(d, terms.x, dst + i, part);
    }
    add_terms_to(d, hn::IfThenElseZero(valid, terms.scale), slice.scale_lanes + lane);
    add_terms_to(d, hn::IfThenElseZero(valid, terms.zero_point), slice.zero_lanes + lane);
  }
}

template <class D, class T, class Lanes>
HWY_INLINE void learnable_column(D d, const LearnableTerms<D>& terms_of, const Columns& columns, int64_t column,
                                 const T* src, const T* out_grad, T* dst, Lanes lanes) {
  using C = hn::TFromD<D>;
  const auto of = [&](const void* array) { return hn::LoadU(d, static_cast<const C*>(array) + column); };
  const ParameterVectors<hn::Vec<D>> p = {of(columns.scale), of(columns.inverse), of(columns.zero_point)};
  const auto terms = terms_of(p, simd::load(d, src + column, lanes), simd::load(d, out_grad + column, lanes));
  simd::store(d, terms.x, dst + column, lanes);
  add_terms_to(d, terms.scale, columns.scale_sums + column);
  add_terms_to(d, terms.zero_point, columns.zero_sums + column);
}

template <class T>
void learnable_columns(const LearnableGrad& grad, const Columns& columns, const void* src_begin, const void* grad_begin,
                       void* dst_begin, int64_t begin) {
  using D = hn::ScalableTag<Compute<T>>;
  const D d;
  constexpr int64_t kLanes = hn::MaxLanes(D());
  const T* src = static_cast<const T*>(src_begin) + begin;
  const T* out_grad = static_cast<const T*>(grad_begin) + begin;
  T* dst = static_cast<T*>(dst_begin) + begin;
  const LearnableTerms<D> terms_of(grad);
  for (int64_t row = 0; row < columns.rows; ++row) {
    int64_t i = 0;
    for (; i + kLanes <= columns.count; i += kLanes)
      learnable_column(d, terms_of, columns, i, src, out_grad, dst, simd::Whole());
    if (i < columns.count) learnable_column(d, terms_of, columns, i, src, out_grad, dst, simd::Part{columns.count - i});
    src += columns.row_size;
    out_grad += columns.row_size;
    dst += columns.row_size;
  }
}

}  // namespace halfstep::kernels::torch::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace torch {
namespace {

/// Most columns of a piece, and one vector of padding.
constexpr int64_t kMostColumns = 512, kPadding = 16;

struct GradState {
  explicit GradState(const Problem& problem) : grad(problem) {
    const Channels& channels = grad.channels;
    stream = elements::streams(channels.size() * static_cast<int64_t>(size_of(grad.dtype)));
    if (!grad.blocks.by_rows()) return;
    piece_channels = kMostColumns / channels.run;
    chunks = ceil_div(channels.count, piece_channels);
  }

  bool by_columns() const { return chunks > 0; }
  int64_t pieces() const {
    return std::max<int64_t>(1, by_columns() ? grad.blocks.per_channel() * chunks : grad.blocks.along_runs().pieces());
  }

  LearnableGrad grad;
  bool stream = false;
  int64_t piece_channels = 0, chunks = 0;  ///< chunks of columns, or 0 along runs
  SliceFunction slice = nullptr;
  ColumnsFunction columns = nullptr;
};

/// Sums of block `block`: scale, then zero point.
double* sums_of(const Call& call, int64_t block) { return reinterpret_cast<double*>(call.scratch) + 2 * block; }

/// Scratch: both sums of each block. Worker scratch: parameters and sums of the columns of a piece.
Plan prepare_grad(const Problem& problem) {
  auto state = std::make_shared<GradState>(problem);
  with_any_float(state->grad.dtype, [&]<class T>() {
    state->slice = HS_SIMD_CHOOSE(problem.level, learnable_slice<T>);
    state->columns = HS_SIMD_CHOOSE(problem.level, learnable_columns<T>);
  });
  return {.state = state,
          .scratch =
              static_cast<size_t>(2 * state->grad.channels.count * state->grad.blocks.per_channel()) * sizeof(double),
          .worker_scratch = state->by_columns() ? 5 * (kMostColumns + kPadding) * sizeof(double) : 0,
          .phases = {state->pieces(), 1}};
}

void add_blocks(const Call& call, const GradState& state, int64_t piece) {
  const LearnableGrad& grad = state.grad;
  const Blocks& blocks = grad.blocks.along_runs();
  for (int64_t block = blocks.piece_begin(piece); block < blocks.piece_end(piece); ++block) {
    SumLanes scale_lanes{};
    SumLanes zero_lanes{};
    Slice slice{
        grad.parameters(call).of(blocks.channel_of(block)), state.stream, 0, 0, scale_lanes.data(), zero_lanes.data()};
    blocks.for_each_slice(block, [&](int64_t begin, int64_t size, int64_t) {
      slice.size = size;
      slice.to_next = size < grad.channels.run ? size : grad.channels.count * grad.channels.run;
      state.slice(grad, slice, call.in[LearnableGrad::In::x].data, call.in[LearnableGrad::In::out_grad].data,
                  call.out[LearnableGrad::Out::x_grad].data, begin);
    });
    sums_of(call, block)[0] = sum_of_lanes(scale_lanes);
    sums_of(call, block)[1] = sum_of_lanes(zero_lanes);
  }
}

template <class C>
void lay_out_columns(const Call& call, const LearnableGrad& grad, int64_t first, int64_t count, C* arrays) {
  const int64_t run = grad.channels.run;
  for (int64_t c = 0; c < count; ++c) {
    const Parameters p = grad.parameters(call).of(first + c);
    for (int64_t i = c * run; i < (c + 1) * run; ++i) {
      arrays[i] = static_cast<C>(p.scale);
      arrays[kMostColumns + kPadding + i] = static_cast<C>(p.inverse);
      arrays[2 * (kMostColumns + kPadding) + i] = static_cast<C>(p.zero_point);
    }
  }
}

void add_columns(const Call& call, const GradState& state, int64_t piece) {
  constexpr int64_t kStride = kMostColumns + kPadding;
  const LearnableGrad& grad = state.grad;
  const Channels& channels = grad.channels;
  const int64_t block = piece / state.chunks;
  const int64_t first = piece % state.chunks * state.piece_channels;
  const int64_t count = std::min(state.piece_channels, channels.count - first);
  const int64_t first_row = block * grad.blocks.block_rows();
  std::fill_n(call.worker_scratch, 5 * kStride * sizeof(double), std::byte{0});
  const auto lay_out = [&]<class C>(C* arrays) {
    lay_out_columns(call, grad, first, count, arrays);
    auto* sums = reinterpret_cast<double*>(call.worker_scratch) + 3 * kStride;
    const int64_t row_size = channels.count * channels.run;
    const Columns columns{std::min(grad.blocks.block_rows(), channels.outer - first_row),
                          row_size,
                          count * channels.run,
                          arrays,
                          arrays + kStride,
                          arrays + 2 * kStride,
                          sums,
                          sums + kStride};
    state.columns(grad, columns, call.in[LearnableGrad::In::x].data, call.in[LearnableGrad::In::out_grad].data,
                  call.out[LearnableGrad::Out::x_grad].data, first_row * row_size + first * channels.run);
    for (int64_t c = 0; c < count; ++c) {
      double* both = sums_of(call, (first + c) * grad.blocks.per_channel() + block);
      both[0] = both[1] = 0.0;
      for (int64_t i = c * channels.run; i < (c + 1) * channels.run; ++i) {
        both[0] += columns.scale_sums[i];
        both[1] += columns.zero_sums[i];
      }
    }
  };
  if (grad.dtype == DType::f64) {
    lay_out(reinterpret_cast<double*>(call.worker_scratch));
  } else {
    lay_out(reinterpret_cast<float*>(call.worker_scratch));
  }
}

void finish(const Call& call, const GradState& state) {
  const int64_t per_channel = state.grad.blocks.per_channel();
  for (int64_t c = 0; c < state.grad.channels.count; ++c) {
    double scale = 0.0;
    double zero = 0.0;
    for (int64_t block = c * per_channel; block < (c + 1) * per_channel; ++block) {
      scale += sums_of(call, block)[0];
      zero += sums_of(call, block)[1];
    }
    call.out[LearnableGrad::Out::scale_grad].as<float>()[c] = static_cast<float>(scale);
    call.out[LearnableGrad::Out::zero_point_grad].as<float>()[c] = static_cast<float>(zero);
  }
}

Status run_grad(const Call& call, int phase, int64_t piece) {
  const auto& state = state_of<GradState>(call);
  if (phase == 1) {
    finish(call, state);
  } else if (state.grad.channels.size() > 0) {
    (state.by_columns() ? add_columns : add_blocks)(call, state, piece);
  }
  return {};
}

}  // namespace
}  // namespace torch

extern const Kernel cpu_fake_quantize_learnable_per_tensor_affine_grad_blocks{"blocks", accept_simd,
                                                                              torch::prepare_grad, torch::run_grad};
extern const Kernel cpu_fake_quantize_learnable_per_channel_affine_grad_blocks{"blocks", accept_simd,
                                                                               torch::prepare_grad, torch::run_grad};

}  // namespace halfstep::kernels
#endif
