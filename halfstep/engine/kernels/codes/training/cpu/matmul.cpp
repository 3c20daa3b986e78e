// Products of two values of one-byte codes. Tiles compute the sums of a block of rows, then all three results follow
// from them.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/codes/integer/cpu/code_matmul.h"
#include "halfstep/engine/kernels/codes/training/cpu/rows.h"
#include "halfstep/engine/kernels/common/simd/dispatch.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace training {
namespace {

using integer::CodeMatmul;

/// Largest product of two differences of codes. Each is at most 255 in magnitude.
constexpr int64_t kLargestProduct = 255 * 255;

struct ProductState : RuleState<QuantizedMatmul> {
  explicit ProductState(const Problem& problem)
      : RuleState(problem.attributes),
        matmul(Contraction::of(attributes, problem), problem.in[QuantizedMatmul::in::a]->dtype,
               problem.in[QuantizedMatmul::in::b]->dtype, problem.level),
        rows(row_functions(problem.level)) {}

  size_t a_bytes() const { return aligned(static_cast<size_t>(matmul.a_bytes())); }
  size_t sums_bytes() const { return static_cast<size_t>(matmul.rows(0) * matmul.product().columns) * sizeof(int32_t); }

  CodeMatmul matmul;
  const RowFunctions& rows;
};

Verdict accept_matmul(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (Verdict verdict = accept_filled(problem); !verdict) return verdict;
  for (const int port : {QuantizedMatmul::in::a, QuantizedMatmul::in::b}) {
    if (is_wide(problem.in[port]->dtype))
      return refuse(errors::kernel_takes_other_types("codes", name(problem.in[port]->dtype), "codes of one byte"));
  }
  const int64_t depth = Contraction::of(QuantizedMatmul(problem.attributes), problem).depth;
  if (depth > arith::kMostInInt32 / kLargestProduct)
    return refuse(errors::kernel_sum_too_large(fmt::format("{} products", depth), "32 bits"));
  return accept();
}

Plan prepare_matmul(const Problem& problem) {
  const auto state = std::make_shared<ProductState>(problem);
  const int64_t batches = state->matmul.product().batches;
  return {.state = state,
          .scratch = static_cast<size_t>(batches * state->matmul.b_bytes()),
          .worker_scratch = state->a_bytes() + state->sums_bytes(),
          .phases = {batches, batches * state->matmul.blocks()}};
}

Status run_matmul(const Call& call, int phase, int64_t piece) {
  using In = QuantizedMatmul::in;
  const auto& state = state_of<ProductState>(call);
  const CodeMatmul& matmul = state.matmul;
  const Contraction& p = matmul.product();
  const Operand a(call, In::a, In::a_scale, In::a_zero_point);
  const Operand b(call, In::b, In::b_scale, In::b_zero_point);
  const integer::ZeroPoints zero_points{a.zero_point, b.zero_point};
  const int64_t batch = phase == 0 ? piece : piece / matmul.blocks(), block = piece % matmul.blocks();
  ProductRow row;
  const int64_t first = (batch * p.rows + matmul.first_row(block)) * p.columns;
  if (Status status = derive<QuantizedMatmul>(call, state.rule, a, b, first, row); !status.ok()) return status;
  std::byte* packed_b = call.scratch + batch * matmul.b_bytes();
  if (phase == 0) {
    matmul.pack_b(zero_points, element_of(b.view, p.b.begin(batch)), packed_b);
    return {};
  }
  matmul.pack_a(zero_points, element_of(a.view, p.a.begin(batch)), block, call.worker_scratch);
  auto* sums = reinterpret_cast<int32_t*>(call.worker_scratch + state.a_bytes());
  matmul.multiply(zero_points, call.worker_scratch, packed_b, block,
                  [&](const integer::SumsTile& tile) { tile.copy_to(sums, p.columns); });
  row.size = matmul.rows(block) * p.columns;
  row.sums = sums;
  row.a_scale = a.scale;
  row.b_scale = b.scale;
  state.rows.requantize_products(row);
  return {};
}

}  // namespace
}  // namespace training

extern const Kernel cpu_quantized_matmul_tiles{"tiles", training::accept_matmul, training::prepare_matmul,
                                               training::run_matmul};

}  // namespace halfstep::kernels
