// Operators that select elements by indices. A separate phase checks the indices, so that the error does not depend on
// the distribution of work to threads.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/tensor/indices.h"
#include "halfstep/engine/kernels/tensor/maps.h"
#include "halfstep/engine/kernels/tensor/places.h"

namespace halfstep::kernels {
namespace tensor {
namespace {

constexpr int64_t kPiece = 16384;

int64_t rows_per_piece(int64_t row) { return std::max<int64_t>(1, kPiece / std::max<int64_t>(1, row)); }

int64_t pieces_of_rows(int64_t rows, int64_t row) { return ceil_div(rows, rows_per_piece(row)); }

// gather

struct GatherState {
  Axis axis;
  int64_t indices;
};

Plan prepare_gather(const Problem& problem) {
  const Axis axis(problem.in[Gather::in::x]->dims, Gather(problem.attributes).axis);
  const int64_t indices = count_elements(problem.in[Gather::in::indices]->dims);
  return {.state = std::make_shared<GatherState>(axis, indices),
          .phases = {1, pieces_of_rows(axis.outer * indices, axis.inner)}};
}

Status run_gather(const Call& call, int phase, int64_t piece) {
  const auto& [axis, count] = state_of<GatherState>(call);
  return with_index(call.in[Gather::in::indices].dtype, [&, count = count]<class Index>() {
    const Index* indices = call.in[Gather::in::indices].as<const Index>();
    if (phase == 0) return axis.outer * axis.inner == 0 ? Status() : check_indices(indices, count, axis.extent);
    with_bits(call.out[0].dtype, [&]<class T>() {
      const T* src = call.in[Gather::in::x].as<const T>();
      T* dst = call.out[0].as<T>();
      const int64_t step = rows_per_piece(axis.inner), end = std::min(axis.outer * count, (piece + 1) * step);
      int64_t row = piece * step;
      while (row < end) {  // the rows of one slice, without a division for each
        const int64_t slice = row / count, last = std::min(end, (slice + 1) * count);
        const T* from = src + slice * axis.extent * axis.inner;
        for (; row < last; ++row) {
          const int64_t index = counted(static_cast<int64_t>(indices[row - slice * count]), axis.extent);
          if (axis.inner == 1)
            dst[row] = from[index];
          else
            std::copy_n(from + index * axis.inner, axis.inner, dst + row * axis.inner);
        }
      }
    });
    return Status();
  });
}

// gather_elements and scatter_elements

Plan prepare_gather_elements(const Problem& problem) { return {.state = elements_state<GatherElements>(problem)}; }

Status run_gather_elements(const Call& call, int, int64_t) {
  const auto& state = state_of<ElementsState>(call);
  return with_index(call.in[1].dtype, [&]<class Index>() {
    const Index* indices = call.in[1].as<const Index>();
    if (Status status = check_indices(indices, call.in[1].size(), state.axis.extent); !status.ok()) return status;
    with_bits(call.out[0].dtype, [&]<class T>() {
      const T* src = call.in[0].as<const T>();
      T* dst = call.out[0].as<T>();
      for_each_element(state, [&](int64_t i, int64_t base) {
        dst[i] = src[base + counted(static_cast<int64_t>(indices[i]), state.axis.extent) * state.axis.inner];
      });
    });
    return Status();
  });
}

/// Combines `old` with `update`.
template <class T>
using Reduction = T (*)(T old, T update);

template <class T>
Reduction<T> reduction_of(const std::string& name) {
  if (name == "add") return [](T a, T b) { return static_cast<T>(plus(widen(a), widen(b))); };
  if (name == "mul") return [](T a, T b) { return static_cast<T>(times(widen(a), widen(b))); };
  if (name == "max") return [](T a, T b) { return widen(b) > widen(a) || widen(b) != widen(b) ? b : a; };
  if (name == "min") return [](T a, T b) { return widen(b) < widen(a) || widen(b) != widen(b) ? b : a; };
  return [](T, T b) { return b; };
}

Plan prepare_scatter_elements(const Problem& problem) { return {.state = elements_state<ScatterElements>(problem)}; }

Status run_scatter_elements(const Call& call, int, int64_t) {
  using In = ScatterElements::in;
  const auto& state = state_of<ElementsState>(call);
  return with_index(call.in[In::indices].dtype, [&]<class Index>() {
    const Index* indices = call.in[In::indices].as<const Index>();
    if (Status status = check_indices(indices, call.in[In::indices].size(), state.axis.extent); !status.ok())
      return status;
    with_plain(call.out[0].dtype, [&]<class T>() {
      const T* updates = call.in[In::updates].as<const T>();
      T* dst = call.out[0].as<T>();
      std::copy_n(call.in[In::x].as<const T>(), call.out[0].size(), dst);
      const Reduction<T> reduce = reduction_of<T>(state.reduction);
      for_each_element(state, [&](int64_t i, int64_t base) {
        T& old = dst[base + counted(static_cast<int64_t>(indices[i]), state.axis.extent) * state.axis.inner];
        old = reduce(old, updates[i]);
      });
    });
    return Status();
  });
}

// gather_nd and scatter_nd

Plan prepare_gather_nd(const Problem& problem) {
  const Positions positions(problem.in[GatherNd::in::x]->dims, problem.in[GatherNd::in::indices]->dims,
                            GatherNd(problem.attributes).batch_dims);
  return {.state = std::make_shared<Positions>(positions),
          .phases = {1, pieces_of_rows(positions.count, positions.inner)}};
}

Status run_gather_nd(const Call& call, int phase, int64_t piece) {
  const auto& positions = state_of<Positions>(call);
  const int64_t* indices = call.in[GatherNd::in::indices].as<const int64_t>();
  if (phase == 0) return positions.check(indices);
  with_bits(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[GatherNd::in::x].as<const T>();
    T* dst = call.out[0].as<T>();
    const int64_t step = rows_per_piece(positions.inner), end = std::min(positions.count, (piece + 1) * step);
    for (int64_t i = piece * step; i < end; ++i)
      std::copy_n(src + positions.offset(indices, i), positions.inner, dst + i * positions.inner);
  });
  return {};
}

Plan prepare_scatter_nd(const Problem& problem) {
  auto state =
      std::make_shared<Positions>(problem.in[ScatterNd::in::x]->dims, problem.in[ScatterNd::in::indices]->dims, 0);
  state->reduction = ScatterNd(problem.attributes).reduction;
  return {.state = std::move(state)};
}

Status run_scatter_nd(const Call& call, int, int64_t) {
  using In = ScatterNd::in;
  const auto& positions = state_of<Positions>(call);
  const int64_t* indices = call.in[In::indices].as<const int64_t>();
  if (Status status = positions.check(indices); !status.ok()) return status;
  with_plain(call.out[0].dtype, [&]<class T>() {
    T* dst = call.out[0].as<T>();
    std::copy_n(call.in[In::x].as<const T>(), call.out[0].size(), dst);
    const Reduction<T> reduce = reduction_of<T>(positions.reduction);
    const T* update = call.in[In::updates].as<const T>();
    for (int64_t i = 0; i < positions.count; ++i) {
      T* old = dst + positions.offset(indices, i);
      for (int64_t e = 0; e < positions.inner; ++e) old[e] = reduce(old[e], *update++);
    }
  });
  return {};
}

// one_hot

Plan prepare_one_hot(const Problem& problem) {
  return {.state = std::make_shared<Axis>(problem.out[0]->dims, OneHot(problem.attributes).axis)};
}

Status run_one_hot(const Call& call, int, int64_t) {
  const auto& axis = state_of<Axis>(call);
  with_number(call.in[OneHot::in::indices].dtype, [&]<class Index>() {
    const Index* indices = call.in[OneHot::in::indices].as<const Index>();
    with_bits(call.out[0].dtype, [&]<class T>() {
      const T* values = call.in[OneHot::in::values].as<const T>();
      T* dst = call.out[0].as<T>();
      std::fill_n(dst, call.out[0].size(), values[0]);
      for (int64_t o = 0; o < axis.outer; ++o) {
        for (int64_t i = 0; i < axis.inner; ++i) {
          const int64_t index = counted(saturated<int64_t>(to_double(indices[o * axis.inner + i])), axis.extent);
          if (index >= 0 && index < axis.extent) dst[(o * axis.extent + index) * axis.inner + i] = values[1];
        }
      }
    });
  });
  return {};
}

// trilu, eye_like, zeros_like, arange, positions, reverse_sequence

template <class Typed>
Plan prepare_attributes(const Problem& problem) {
  return {.state = std::make_shared<Typed>(problem.attributes)};
}

Status run_trilu(const Call& call, int, int64_t) {
  const auto& a = state_of<Trilu>(call);
  const View& out = call.out[0];
  const int64_t rows = out.dims[out.dims.size() - 2], columns = out.dims.back();
  with_bits(out.dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>();
    T* dst = out.as<T>();
    const int64_t all_rows = columns == 0 ? 0 : out.size() / columns;
    for (int64_t row = 0; row < all_rows; ++row) {
      const int64_t cut = std::clamp<int64_t>(row % rows + a.k + (a.upper ? 0 : 1), 0, columns);
      const T* from = src + row * columns;
      T* to = dst + row * columns;
      std::copy_n(a.upper ? from + cut : from, a.upper ? columns - cut : cut, a.upper ? to + cut : to);
      std::fill_n(a.upper ? to : to + cut, a.upper ? cut : columns - cut, T(0));
    }
  });
  return {};
}

Status run_eye_like(const Call& call, int, int64_t) {
  const auto& a = state_of<EyeLike>(call);
  const View& out = call.out[0];
  const int64_t rows = out.dims[0], columns = out.dims[1];
  with_plain(out.dtype, [&]<class T>() {
    T* dst = out.as<T>();
    std::fill_n(dst, out.size(), static_cast<T>(Wide<T>(0)));
    for (int64_t row = std::max<int64_t>(0, -a.k); row < rows && row + a.k < columns; ++row)
      dst[row * columns + row + a.k] = static_cast<T>(Wide<T>(1));
  });
  return {};
}

Verdict accept_eye_like(const Problem& problem) {
  const DType dtype = problem.out[0]->dtype;
  if (is_small_float(dtype) || bits_of(dtype) < 8)
    return refuse(errors::kernel_takes_other_types("the result", name(dtype), "another type"));
  return accept();
}

/// Works for any type, because all bits of a zero are 0.
Status run_zeros_like(const Call& call, int, int64_t) {
  const View& out = call.out[0];
  std::memset(out.data, 0, static_cast<size_t>(out.size()) * size_of(out.dtype));
  return {};
}

Status run_arange(const Call& call, int, int64_t) {
  with_number(call.out[0].dtype, [&]<class T>() {
    T* dst = call.out[0].as<T>();
    const int64_t length = call.out[0].size();
    if constexpr (kIsFloat<T>) {
      const double start = to_double(*call.in[0].as<const T>()), step = to_double(*call.in[1].as<const T>());
      for (int64_t i = 0; i < length; ++i) dst[i] = from_double<T>(start + static_cast<double>(i) * step);
    } else {
      const auto start = static_cast<uint64_t>(*call.in[0].as<const T>());
      const auto step = static_cast<uint64_t>(*call.in[1].as<const T>());
      for (int64_t i = 0; i < length; ++i) dst[i] = static_cast<T>(start + static_cast<uint64_t>(i) * step);
    }
  });
  return {};
}

Status run_positions(const Call& call, int, int64_t) {
  const auto& a = state_of<kernels::Positions>(call);
  const auto start = static_cast<uint64_t>(a.start), step = static_cast<uint64_t>(a.step);
  int64_t* dst = call.out[0].as<int64_t>();
  for (int64_t i = 0; i < call.out[0].size(); ++i)
    dst[i] = static_cast<int64_t>(start + static_cast<uint64_t>(i) * step);
  return {};
}

Status run_reverse_sequence(const Call& call, int, int64_t) {
  const auto& a = state_of<ReverseSequence>(call);
  const View& out = call.out[0];
  const int64_t rows = out.dims[0], columns = out.dims[1];
  const int64_t inner = rows * columns == 0 ? 0 : out.size() / (rows * columns);
  const int64_t* lengths = call.in[ReverseSequence::in::sequence_lens].as<const int64_t>();
  const int64_t times = a.time_axis == 0 ? rows : columns;
  if (inner == 0) return {};
  for (int64_t i = 0; i < rows * columns / times; ++i) {
    if (lengths[i] < 0 || lengths[i] > times)
      return Status(errors::operand_index_out_of_range(fmt::format("length of sequence {}", i), lengths[i],
                                                       fmt::format("0 to {}", times)));
  }
  with_bits(out.dtype, [&]<class T>() {
    const T* src = call.in[ReverseSequence::in::x].as<const T>();
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t time = a.time_axis == 0 ? row : column, entry = a.time_axis == 0 ? column : row;
        const int64_t from = time < lengths[entry] ? lengths[entry] - 1 - time : time;
        const int64_t source = a.time_axis == 0 ? from * columns + column : row * columns + from;
        std::copy_n(src + source * inner, inner, out.as<T>() + (row * columns + column) * inner);
      }
    }
  });
  return {};
}

}  // namespace
}  // namespace tensor

using namespace tensor;  // NOLINT: only for the table below

extern const Kernel reference_gather{"reference", accept_all, prepare_gather, run_gather};
extern const Kernel reference_gather_elements{"reference", accept_elements, prepare_gather_elements,
                                              run_gather_elements};
extern const Kernel reference_gather_nd{"reference", accept_all, prepare_gather_nd, run_gather_nd};
extern const Kernel reference_scatter_elements{"reference", accept_elements, prepare_scatter_elements,
                                               run_scatter_elements};
extern const Kernel reference_scatter_nd{"reference", accept_all, prepare_scatter_nd, run_scatter_nd};
extern const Kernel reference_one_hot{"reference", accept_all, prepare_one_hot, run_one_hot};
extern const Kernel reference_trilu{"reference", accept_all, prepare_attributes<Trilu>, run_trilu};
extern const Kernel reference_eye_like{"reference", accept_eye_like, prepare_attributes<EyeLike>, run_eye_like};
extern const Kernel reference_zeros_like{"reference", accept_all, [](const Problem&) { return Plan(); },
                                         run_zeros_like};
extern const Kernel reference_arange{"reference", accept_all, prepare_attributes<Arange>, run_arange};
extern const Kernel reference_positions{"reference", accept_all, prepare_attributes<kernels::Positions>, run_positions};
extern const Kernel reference_reverse_sequence{"reference", accept_all, prepare_attributes<ReverseSequence>,
                                               run_reverse_sequence};

}  // namespace halfstep::kernels
