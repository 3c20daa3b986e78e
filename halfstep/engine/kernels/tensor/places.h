// The elements of x that indices name.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/tensor/indices.h"
#include "halfstep/engine/kernels/tensor/maps.h"

namespace halfstep::kernels::tensor {

/// Elements at indices along one axis.
struct ElementsState {
  Axis axis;     ///< axis of x
  Dims dims;     ///< extents of the indices
  Dims strides;  ///< strides of x
  size_t at;     ///< number of the axis
  std::string reduction;
};

template <class Typed>
std::shared_ptr<ElementsState> elements_state(const Problem& problem) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[Typed::in::x]->dims;
  const auto at = static_cast<size_t>(a.axis < 0 ? a.axis + static_cast<int64_t>(x.size()) : a.axis);
  auto state = std::make_shared<ElementsState>(Axis(x, a.axis), problem.in[Typed::in::indices]->dims, dense_strides(x),
                                               at, std::string());
  if constexpr (requires { a.reduction; }) state->reduction = a.reduction;
  return state;
}

/// Calls visit(element of the indices, first element of x along the axis) in order.
template <class Visit>
void for_each_element(const ElementsState& state, const Visit& visit) {
  const int64_t count = count_elements(state.dims);
  Dims place(state.dims.size(), 0);
  int64_t base = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(i, base);
    for (size_t axis = place.size(); axis-- > 0;) {
      const int64_t stride = axis == state.at ? 0 : state.strides[axis];
      base += stride;
      if (++place[axis] < state.dims[axis]) break;
      base -= stride * state.dims[axis];
      place[axis] = 0;
    }
  }
}

/// x and the indices are the first operands.
inline Verdict accept_elements(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  const Dims& indices = problem.in[1]->dims;
  const int64_t axis = GatherElements(problem.attributes).axis;
  const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
  for (size_t i = 0; i < x.size(); ++i) {
    if (i != at && indices[i] > x[i])
      return refuse(errors::operand_extents_do_not_fit("indices", to_string(indices),
                                                       fmt::format("at most {} along axis {}", x[i], i)));
  }
  return accept();
}

/// Positions along `depth` axes of x. Each names a row of `inner` elements.
struct Positions {
  int64_t count = 0, depth = 0, inner = 1;
  int64_t per_batch = 1, batch_stride = 0;  ///< positions of one batch, and elements of x of one batch
  Dims extents, strides;                    ///< extents and strides of the axes that a position indexes
  std::string reduction = {};

  Positions(const Dims& x, const Dims& indices, int64_t batch_dims) {
    const auto batch = static_cast<size_t>(batch_dims);
    depth = indices.back();
    count = depth == 0 ? 1 : count_elements(indices) / depth;
    if (depth == 0) {
      for (size_t i = 0; i + 1 < indices.size(); ++i) count *= indices[i];
    }
    const Dims all = dense_strides(x);
    for (size_t i = batch; i + 1 < indices.size(); ++i) per_batch *= indices[i];
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(batch);
    extents.assign(first, first + depth);
    strides.assign(all.begin() + static_cast<std::ptrdiff_t>(batch),
                   all.begin() + static_cast<std::ptrdiff_t>(batch) + depth);
    for (auto at = first + depth; at != x.end(); ++at) inner *= *at;
    batch_stride = batch == 0 ? 0 : all[batch - 1];
  }

  Status check(const int64_t* indices) const {
    for (int64_t i = 0; i < count * depth; ++i) {
      const int64_t extent = extents[i % depth];
      if (indices[i] < -extent || indices[i] >= extent)
        return Status(errors::operand_index_out_of_range(fmt::format("index {}", i), indices[i],
                                                         fmt::format("{} to {}", -extent, extent - 1)));
    }
    return {};
  }
  /// First element of x of position `i`.
  int64_t offset(const int64_t* indices, int64_t i) const {
    int64_t at = i / per_batch * batch_stride;
    for (int64_t axis = 0; axis < depth; ++axis)
      at += counted(indices[i * depth + axis], extents[axis]) * strides[axis];
    return at;
  }
};

}  // namespace halfstep::kernels::tensor
