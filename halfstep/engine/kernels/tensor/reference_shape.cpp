// Operators that move elements.
#include <memory>

#include "halfstep/engine/kernels/common/join.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

Plan prepare_copy(const Problem&) { return {}; }

Status run_copy(const Call& call, int, int64_t) {
  const View& dst = call.out[0];
  copy_bytes(dst.data, call.in[0].data, dst.size() * static_cast<int64_t>(size_of(dst.dtype)));
  return {};
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

/// Values may be codes while their gradient is float. Therefore only extents are used, in elements of the gradient.
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
extern const Kernel reference_reshape_by{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_flatten{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_transfer{"reference", accept_all, prepare_copy, run_copy};
extern const Kernel reference_concat{"reference", accept_all, prepare_concat, run_concat};
extern const Kernel reference_concat_grad{"reference", accept_all, prepare_concat_grad, run_concat_grad};

}  // namespace halfstep::kernels
