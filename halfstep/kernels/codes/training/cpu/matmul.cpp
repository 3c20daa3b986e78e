// Products of two values of codes of one byte, as whole float32 numbers through oneDNN: exact on every level while no
// partial sum can leave 2^24.
#include <algorithm>
#include <memory>

#include "halfstep/base/divide.h"
#include "halfstep/base/tensor.h"
#include "halfstep/kernels/codes/contraction.h"
#include "halfstep/kernels/codes/training/cpu/rows.h"
#include "halfstep/kernels/common/onednn.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace training {
namespace {

/// Of two differences of codes, each at most 255 in magnitude.
constexpr int64_t kLargestProduct = 255 * 255;
/// Products that add up below 2^24 in any order, in whole vectors.
constexpr int64_t kExactDepth = 256;
static_assert(kExactDepth * kLargestProduct < int64_t{1} << 24);

size_t floats(int64_t count) { return aligned(static_cast<size_t>(count) * sizeof(float)); }

/// One product of a batch after the other: a piece is a batch.
struct ProductState : RuleState<QuantizedMatmul> {
  explicit ProductState(const Problem& problem)
      : RuleState(problem.attributes),
        product(Contraction::of(attributes, problem)),
        rows(row_functions(problem.level)),
        whole(of_depth(std::min(product.depth, kExactDepth))),
        last(of_depth((product.depth - 1) % kExactDepth + 1)) {}

  onednn::Matmul of_depth(int64_t depth) const {
    const Contraction& p = product;
    return onednn::Matmul({.m = p.rows,
                           .n = p.columns,
                           .k = depth,
                           .a_row = p.transpose_a ? 1 : p.depth,
                           .a_column = p.transpose_a ? p.rows : 1,
                           .b_row = p.transpose_b ? 1 : p.columns,
                           .b_column = p.transpose_b ? p.depth : 1,
                           .c_row = p.columns});
  }

  size_t a_bytes() const { return floats(product.rows * product.depth); }
  size_t b_bytes() const { return floats(product.depth * product.columns); }
  size_t sums_bytes() const { return floats(product.rows * product.columns); }
  size_t scratch() const {
    return a_bytes() + b_bytes() + 2 * sums_bytes() + std::max(whole.scratch(), last.scratch());
  }

  Contraction product;
  const RowFunctions& rows;
  onednn::Matmul whole, last;  ///< slices of the depth
};

Verdict accept_matmul(const Problem& problem) {
  if (Verdict verdict = onednn::accept_level(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  for (const int port : {QuantizedMatmul::in::a, QuantizedMatmul::in::b}) {
    if (is_wide(problem.in[port]->dtype)) return refuse("it reads codes of 16 bits");
  }
  const int64_t depth = Contraction::of(QuantizedMatmul(problem.attributes), problem).depth;
  if (depth > arith::kMostInInt32 / kLargestProduct) return refuse("{} products pass 32 bits", depth);
  return accept();
}

Plan prepare_matmul(const Problem& problem) {
  const auto state = std::make_shared<ProductState>(problem);
  return {.state = state, .worker_scratch = state->scratch(), .phases = {state->product.batches}};
}

/// Sums of a batch.
Status multiply(const ProductState& state, const float* a, const float* b, float* part, std::byte* scratch,
                int32_t* sums) {
  const Contraction& p = state.product;
  for (int64_t k = 0; k < p.depth; k += kExactDepth) {
    const onednn::Matmul& slice = k + kExactDepth < p.depth ? state.whole : state.last;
    const float* from_b = b + k * (p.transpose_b ? 1 : p.columns);
    Status status = slice.multiply(a + k * (p.transpose_a ? p.rows : 1), from_b, nullptr, part, scratch);
    if (!status.ok()) return status;
    state.rows.add_whole(part, p.rows * p.columns, 0, k == 0, sums);
  }
  return {};
}

Status run_matmul(const Call& call, int, int64_t batch) {
  using In = QuantizedMatmul::in;
  const auto& state = state_of<ProductState>(call);
  const Contraction& p = state.product;
  const Operand a(call, In::a, In::a_scale, In::a_zero_point);
  const Operand b(call, In::b, In::b_scale, In::b_zero_point);
  ProductRow row;
  row.size = p.rows * p.columns;
  if (Status status = derive<QuantizedMatmul>(call, state.rule, a, b, batch * row.size, row); !status.ok())
    return status;
  auto* a_steps = reinterpret_cast<float*>(call.worker_scratch);
  auto* b_steps = reinterpret_cast<float*>(call.worker_scratch + state.a_bytes());
  std::byte* rest = call.worker_scratch + state.a_bytes() + state.b_bytes();
  auto* part = reinterpret_cast<float*>(rest);
  auto* sums = reinterpret_cast<int32_t*>(rest + state.sums_bytes());
  const int64_t a_size = p.rows * p.depth, b_size = p.depth * p.columns;
  state.rows.subtract(a.view.dtype, element_of(a.view, batch * a_size), a_size, a.zero_point, a_steps);
  state.rows.subtract(b.view.dtype, element_of(b.view, batch * b_size), b_size, b.zero_point, b_steps);
  if (Status status = multiply(state, a_steps, b_steps, part, rest + 2 * state.sums_bytes(), sums); !status.ok())
    return status;
  row.sums = sums;
  row.a_scale = a.scale;
  row.b_scale = b.scale;
  state.rows.requantize_products(row);
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_matmul_onednn{"onednn", training::accept_matmul, training::prepare_matmul,
                                                training::run_matmul};

}  // namespace halfstep::kernels
