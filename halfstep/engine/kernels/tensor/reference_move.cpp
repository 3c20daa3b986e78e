// Operators that repeat, cut and pad. A table for each axis selects the source elements.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/common/join.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/tensor/maps.h"

namespace halfstep::kernels {
namespace tensor {
namespace {

using Tables = std::vector<std::vector<int64_t>>;

Plan plan_of(Tables tables) {
  auto state = std::make_shared<Maps>(std::move(tables));
  const int64_t pieces = state->pieces();
  return {.state = std::move(state), .phases = {pieces}};
}

/// Offsets source(i) * stride for the positions i of an axis of the result.
template <class Source>
std::vector<int64_t> table(int64_t extent, int64_t stride, const Source& source) {
  std::vector<int64_t> offsets(static_cast<size_t>(extent));
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t at = source(i);
    offsets[static_cast<size_t>(i)] = at == kOutside ? kOutside : at * stride;
  }
  return offsets;
}

std::vector<int64_t> whole(int64_t extent, int64_t stride) {
  return table(extent, stride, [](int64_t i) { return i; });
}

size_t axis_of(const std::vector<int64_t>& axes, size_t i, size_t rank) {
  const int64_t axis = axes.empty() ? static_cast<int64_t>(i) : axes[i];
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

Plan prepare_expand(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const Dims& out = problem.out[0]->dims;
  const std::vector<int64_t> strides = dense_strides(x);
  Tables tables;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t missing = out.size() - x.size();
    const bool repeats = i < missing || x[i - missing] == 1;
    tables.push_back(whole(out[i], repeats ? 0 : strides[i - missing]));
  }
  return plan_of(std::move(tables));
}

Plan prepare_tile(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const std::vector<int64_t> strides = dense_strides(x);
  Tables tables;
  for (size_t i = 0; i < x.size(); ++i)
    tables.push_back(table(problem.out[0]->dims[i], strides[i], [extent = x[i]](int64_t at) { return at % extent; }));
  return plan_of(std::move(tables));
}

/// Plans a transposition. `source_axis` has the source axis of each axis of the result.
Plan plan_transpose(const Dims& source, const std::vector<int64_t>& source_axis) {
  const std::vector<int64_t> strides = dense_strides(source);
  Tables tables;
  for (const int64_t axis : source_axis) tables.push_back(whole(source[axis], strides[axis]));
  return plan_of(std::move(tables));
}

Plan prepare_transpose(const Problem& problem) {
  return plan_transpose(problem.in[Transpose::in::x]->dims, Transpose(problem.attributes).perm);
}

Plan prepare_transpose_back(const Problem& problem) {
  return plan_transpose(problem.in[TransposeBack::in::x]->dims, inverse_axes(TransposeBack(problem.attributes).perm));
}

/// By axis and position of a result: the position in the operand, or kOutside.
using Places = std::vector<std::vector<int64_t>>;

Plan plan_of_places(Places places, const Dims& operand) {
  const std::vector<int64_t> strides = dense_strides(operand);
  for (size_t axis = 0; axis < places.size(); ++axis) {
    for (int64_t& place : places[axis]) place = place == kOutside ? kOutside : place * strides[axis];
  }
  return plan_of(std::move(places));
}

/// For each position of the operand of extents `x`: the position of the result that reads it, or kOutside. No position
/// may be read twice.
Places inverse(const Places& places, const Dims& x) {
  Places result;
  for (size_t axis = 0; axis < places.size(); ++axis) {
    auto& back = result.emplace_back(static_cast<size_t>(x[axis]), kOutside);
    for (size_t at = 0; at < places[axis].size(); ++at) {
      if (places[axis][at] != kOutside) back[static_cast<size_t>(places[axis][at])] = static_cast<int64_t>(at);
    }
  }
  return result;
}

Places all_places(const Dims& dims) {
  Places places;
  for (const int64_t extent : dims) places.push_back(whole(extent, 1));
  return places;
}

/// The positions that a slice reads in an operand of extents `x`, for a result of extents `out`.
template <class Attributes>
Places slice_places(const Attributes& a, const Dims& x, const Dims& out) {
  Places places = all_places(x);
  for (size_t i = 0; i < a.starts.size(); ++i) {
    const size_t axis = axis_of(a.axes, i, x.size());
    const int64_t step = a.steps.empty() ? 1 : a.steps[i], extent = x[axis];
    const int64_t start = a.starts[i] < 0 ? std::max(a.starts[i], -extent - 1) + extent : a.starts[i];
    const int64_t first = std::clamp<int64_t>(start, 0, std::max<int64_t>(0, step > 0 ? extent : extent - 1));
    places[axis] = table(out[axis], 1, [&](int64_t at) { return first + at * step; });
  }
  return places;
}

Plan prepare_slice(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  return plan_of_places(slice_places(Slice(problem.attributes), x, problem.out[0]->dims), x);
}

Plan prepare_slice_grad(const Problem& problem) {
  const Dims& x = problem.out[0]->dims;
  const Dims& out_grad = problem.in[SliceGrad::in::out_grad]->dims;
  return plan_of_places(inverse(slice_places(SliceGrad(problem.attributes), x, out_grad), x), out_grad);
}

/// Source position of position `at`, which may be before or after an axis of `extent` elements.
int64_t padded_place(const std::string& mode, int64_t at, int64_t extent) {
  if (at >= 0 && at < extent) return at;
  if (mode == "constant") return kOutside;
  if (mode == "edge") return at < 0 ? 0 : extent - 1;
  if (mode == "wrap") return ((at % extent) + extent) % extent;
  if (extent == 1) return 0;
  const int64_t period = 2 * (extent - 1), place = ((at % period) + period) % period;
  return place < extent ? place : period - place;
}

template <class Attributes>
Places pad_places(const Attributes& a, const std::string& mode, const Dims& x, const Dims& out) {
  Places places = all_places(x);
  const size_t count = a.axes.empty() ? x.size() : a.axes.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = axis_of(a.axes, i, x.size());
    // A negative amount cuts its side before the other side is padded.
    const int64_t begin = std::max<int64_t>(0, -a.pads[i]), end = x[axis] - std::max<int64_t>(0, -a.pads[count + i]);
    const int64_t before = std::max<int64_t>(0, a.pads[i]);
    places[axis] = table(out[axis], 1, [&](int64_t at) {
      const int64_t place = end <= begin ? kOutside : padded_place(mode, at - before, end - begin);
      return place == kOutside ? kOutside : place + begin;
    });
  }
  return places;
}

Plan prepare_pad(const Problem& problem) {
  const Pad a(problem.attributes);
  const Dims& x = problem.in[Pad::in::x]->dims;
  return plan_of_places(pad_places(a, a.mode, x, problem.out[0]->dims), x);
}

/// Destination of each element of the result's gradient.
struct PlaceSums {
  Places places;
  std::vector<int64_t> strides;  ///< strides of x
};

Plan prepare_pad_grad(const Problem& problem) {
  const PadGrad a(problem.attributes);
  const Dims& x = problem.out[0]->dims;
  const Dims& out_grad = problem.in[PadGrad::in::out_grad]->dims;
  return {.state = std::make_shared<PlaceSums>(pad_places(a, a.mode, x, out_grad), dense_strides(x)), .phases = {1}};
}

Plan prepare_tile_grad(const Problem& problem) {
  const Dims& x = problem.out[0]->dims;
  const Dims& out_grad = problem.in[TileGrad::in::out_grad]->dims;
  Places places;
  for (size_t i = 0; i < x.size(); ++i)
    places.push_back(table(out_grad[i], 1, [extent = x[i]](int64_t at) { return at % extent; }));
  return {.state = std::make_shared<PlaceSums>(std::move(places), dense_strides(x)), .phases = {1}};
}

/// Adds in the order of out_grad's elements. Each addition is rounded to the type.
Status run_place_sums(const Call& call, int, int64_t) {
  const auto& [places, strides] = state_of<PlaceSums>(call);
  const ConstView& src = call.in[0];
  with_any_float(src.dtype, [&]<class T>() {
    T* dst = call.out[0].as<T>();
    std::fill_n(dst, call.out[0].size(), T(0));
    for (int64_t i = 0; i < src.size(); ++i) {
      int64_t at = 0, rest = i;
      for (size_t axis = places.size(); axis-- > 0 && at != kOutside;) {
        const auto& table = places[axis];
        const int64_t place = table[static_cast<size_t>(rest % static_cast<int64_t>(table.size()))];
        rest /= static_cast<int64_t>(table.size());
        at = place == kOutside ? kOutside : at + place * strides[axis];
      }
      if (at == kOutside) continue;
      dst[at] = static_cast<T>(static_cast<Compute<T>>(dst[at]) + static_cast<Compute<T>>(src.as<const T>()[i]));
    }
  });
  return {};
}

Verdict accept_pad_grad_copy(const Problem& problem) {
  const PadGrad a(problem.attributes);
  return a.mode == "constant" ? accept()
                              : refuse(errors::kernel_is_for_other_options(fmt::format("mode {}", a.mode), "constant"));
}

Plan prepare_pad_grad_copy(const Problem& problem) {
  const Dims& x = problem.out[0]->dims;
  const Dims& out_grad = problem.in[PadGrad::in::out_grad]->dims;
  return plan_of_places(inverse(pad_places(PadGrad(problem.attributes), "constant", x, out_grad), x), out_grad);
}

Plan prepare_center_crop_pad(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const Dims& out = problem.out[0]->dims;
  const std::vector<int64_t> strides = dense_strides(x);
  Tables tables;
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t shift = out[i] < x[i] ? (x[i] - out[i]) / 2 : -((out[i] - x[i]) / 2);
    tables.push_back(table(out[i], strides[i],
                           [&](int64_t at) { return at + shift < 0 || at + shift >= x[i] ? kOutside : at + shift; }));
  }
  return plan_of(std::move(tables));
}

/// Views the result as [n, c, h, block, w, block].
Plan prepare_depth_to_space(const Problem& problem) {
  const DepthToSpace a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  const int64_t b = a.block_size, plane = x[2] * x[3], c = x[1] / (b * b);
  const bool block_first = a.mode == "DCR";
  const int64_t channel = block_first ? plane : b * b * plane, block = block_first ? c * plane : plane;
  return plan_of({whole(x[0], x[1] * plane), whole(c, channel), whole(x[2], x[3]), whole(b, b * block), whole(x[3], 1),
                  whole(b, block)});
}

/// Views the result as [n, block, block, c, h, w], or with the channels before the blocks.
Plan prepare_space_to_depth(const Problem& problem) {
  const SpaceToDepth a(problem.attributes);
  const int64_t b = a.block_size;
  const Dims& x = problem.in[0]->dims;
  Tables tables = {whole(x[0], x[1] * x[2] * x[3]), whole(b, x[3]),    whole(b, 1), whole(x[1], x[2] * x[3]),
                   whole(x[2] / b, b * x[3]),       whole(x[3] / b, b)};
  if (a.mode == "CRD") std::rotate(tables.begin() + 1, tables.begin() + 3, tables.begin() + 4);
  return plan_of(std::move(tables));
}

Status run_maps(const Call& call, int, int64_t piece) {
  state_of<Maps>(call).run(call.in[0], nullptr, call.out[0], piece);
  return {};
}

Status run_pad(const Call& call, int, int64_t piece) {
  state_of<Maps>(call).run(call.in[Pad::in::x], call.in[Pad::in::value].data, call.out[0], piece);
  return {};
}

Plan prepare_copy(const Problem&) { return {}; }

Status run_copy(const Call& call, int, int64_t) {
  const View& dst = call.out[0];
  copy_bytes(dst.data, call.in[0].data, dst.size() * static_cast<int64_t>(size_of(dst.dtype)));
  return {};
}

}  // namespace
}  // namespace tensor

using namespace tensor;  // NOLINT: only for the table below

extern const Kernel reference_identity{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_input_nop{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_output_nop{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_squeeze{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_unsqueeze{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_transpose{"reference", accept_all, prepare_transpose, run_maps};
extern const Kernel reference_transpose_back{"reference", accept_all, prepare_transpose_back, run_maps};
extern const Kernel reference_expand{"reference", accept_all, prepare_expand, run_maps};
extern const Kernel reference_tile{"reference", accept_all, prepare_tile, run_maps};
extern const Kernel reference_slice{"reference", accept_all, prepare_slice, run_maps};
extern const Kernel reference_slice_grad{"reference", accept_all, prepare_slice_grad, run_maps};
extern const Kernel reference_tile_grad{"reference", accept_all, prepare_tile_grad, run_place_sums};
extern const Kernel reference_pad_grad{"reference", accept_all, prepare_pad_grad, run_place_sums};
extern const Kernel cpu_pad_grad_copy{"copy", accept_pad_grad_copy, prepare_pad_grad_copy, run_maps};
extern const Kernel reference_pad{"reference", accept_all, prepare_pad, run_pad};
extern const Kernel reference_center_crop_pad{"reference", accept_all, prepare_center_crop_pad, run_maps};
extern const Kernel reference_depth_to_space{"reference", accept_all, prepare_depth_to_space, run_maps};
extern const Kernel reference_space_to_depth{"reference", accept_all, prepare_space_to_depth, run_maps};

}  // namespace halfstep::kernels
