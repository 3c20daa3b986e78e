// Operators that move elements.
#include <memory>

#include "halfstep/kernels/common/join.h"
#include "halfstep/kernels/kernel.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace {

Plan prepare_copy(const Problem&) { return {}; }

Status run_copy(const Call& call, int, int64_t) {
  const View& dst = call.out[0];
  copy_bytes(dst.data, call.in[0].data, dst.size() * static_cast<int64_t>(size_of(dst.dtype)));
  return {};
}

/// A walk over a dense result that says where each element comes from.
struct TransposeState {
  Dims dims;     ///< of the result
  Dims strides;  ///< of the source, in elements, by axis of the result
};

/// `source_axis` of each axis of the result.
Plan plan_transpose(const Dims& source, const Dims& result, const std::vector<int64_t>& source_axis) {
  Dims dense(source.size(), 1);
  for (size_t i = source.size(); i-- > 1;) dense[i - 1] = dense[i] * source[i];
  auto state = std::make_shared<TransposeState>();
  state->dims = result;
  for (const int64_t axis : source_axis) state->strides.push_back(dense[axis]);
  return {.state = std::move(state)};
}

Plan prepare_transpose(const Problem& problem) {
  const Transpose a(problem.attributes);
  return plan_transpose(problem.in[Transpose::in::x]->dims, problem.out[0]->dims, a.perm);
}

Plan prepare_transpose_back(const Problem& problem) {
  const TransposeBack a(problem.attributes);
  std::vector<int64_t> inverse(a.perm.size());
  for (size_t i = 0; i < a.perm.size(); ++i) inverse[a.perm[i]] = static_cast<int64_t>(i);
  return plan_transpose(problem.in[TransposeBack::in::x]->dims, problem.out[0]->dims, inverse);
}

/// Everything from `axis` of the result on; gives the end of what it wrote.
template <class Element>
Element* transpose(const TransposeState& state, size_t axis, const Element* src, Element* dst) {
  if (axis == state.dims.size()) {
    *dst = *src;
    return dst + 1;
  }
  for (int64_t i = 0; i < state.dims[axis]; ++i) dst = transpose(state, axis + 1, src + i * state.strides[axis], dst);
  return dst;
}

template <class Element>
Status transpose_as(const Call& call) {
  transpose(state_of<TransposeState>(call), 0, call.in[0].as<const Element>(), call.out[0].as<Element>());
  return {};
}

Status run_transpose(const Call& call, int, int64_t) {
  switch (size_of(call.out[0].dtype)) {
    case 1: return transpose_as<uint8_t>(call);
    case 2: return transpose_as<uint16_t>(call);
    case 4: return transpose_as<uint32_t>(call);
    default: return transpose_as<uint64_t>(call);
  }
}

Plan prepare_concat(const Problem& problem) {
  const Concat a(problem.attributes);
  return {.state = std::make_shared<Join>(problem.in.subspan(Concat::in::x), a.axis)};
}

Status run_concat(const Call& call, int, int64_t) {
  const auto& join = state_of<Join>(call);
  auto* dst = call.out[0].as<std::byte>();
  for (int64_t row = 0; row < join.rows; ++row) {
    for (size_t i = 0; i + 1 < join.begins.size(); ++i) {
      const auto* src = call.in[Concat::in::x + i].as<const std::byte>();
      copy_bytes(dst + row * join.row() + join.begins[i], src + row * join.chunk(i), join.chunk(i));
    }
  }
  return {};
}

struct ConcatGradState {
  Join join;
  size_t index;
};

/// The values may be codes while their gradient is float: extents count, in elements of the gradient.
Plan prepare_concat_grad(const Problem& problem) {
  const ConcatGrad a(problem.attributes);
  std::vector<Type> types;
  for (const Type* x : problem.in.subspan(ConcatGrad::in::x)) types.push_back({problem.out[0]->dtype, x->dims});
  std::vector<const Type*> values;
  for (const Type& type : types) values.push_back(&type);
  return {.state = std::make_shared<ConcatGradState>(Join(values, a.axis), static_cast<size_t>(a.index))};
}

Status run_concat_grad(const Call& call, int, int64_t) {
  const auto& [join, index] = state_of<ConcatGradState>(call);
  const auto* src = call.in[ConcatGrad::in::out_grad].as<const std::byte>();
  auto* dst = call.out[0].as<std::byte>();
  for (int64_t row = 0; row < join.rows; ++row)
    copy_bytes(dst + row * join.chunk(index), src + row * join.row() + join.begins[index], join.chunk(index));
  return {};
}

}  // namespace

extern const Kernel reference_reshape{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_reshape_like{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_flatten{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_transfer{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_transpose{"reference", accept_all, prepare_transpose, run_transpose};
extern const Kernel reference_transpose_back{"reference", accept_all, prepare_transpose_back, run_transpose};
extern const Kernel reference_concat{"reference", accept_all, prepare_concat, run_concat};
extern const Kernel reference_concat_grad{"reference", accept_all, prepare_concat_grad, run_concat_grad};

}  // namespace halfstep::kernels
