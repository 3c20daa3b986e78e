// linear, linear_activation and matmul through oneDNN. The shape is cut into blocks of rows and, if these are few, also
// into parts of the columns.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/tensor.h"
#include "halfstep/engine/kernels/common/float_types.h"
#include "halfstep/engine/kernels/common/onednn.h"
#include "halfstep/engine/kernels/elementwise/activation_row.h"
#include "halfstep/engine/kernels/matrix/product.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Limits as for convolutions: a piece of about 80 us on one core, not below 10 us, and enough pieces for a large
/// machine.
constexpr int64_t kPieceFlops = 16'000'000, kLeastFlops = 2'000'000, kWantedPieces = 16;
/// With fewer rows, the work to arrange b outweighs the product.
constexpr int64_t kLeastRows = 32;
/// Columns are cut at multiples of four of the widest vectors.
constexpr int64_t kColumns = 64;

struct MatmulState {
  Product product;
  int64_t rows = 1;    ///< rows of a block. The last block may have fewer
  int64_t blocks = 1;  ///< blocks of each product
  int64_t parts = 1;   ///< parts of the columns
  Activation activation = {};
  elementwise::ActivationRow activate = nullptr;
  onednn::Matmul body = {}, tail = {};
  Tensor packed_body = {}, packed_tail = {};  ///< packed b of all parts, if b is constant and the primitive packs it

  explicit MatmulState(const Product& p) : product(p) {
    const int64_t row_flops = std::max<int64_t>(1, 2 * p.n * p.k);
    rows = std::min(p.m, std::max(kLeastRows, kPieceFlops / row_flops));
    blocks = ceil_div(p.m, rows);
    rows = ceil_div(p.m, blocks);
    for (int64_t count = 2; p.batches * blocks * count <= kWantedPieces; ++count) {
      if (p.n % (count * kColumns) == 0 && rows * row_flops / count >= kLeastFlops) parts = count;
    }
  }

  int64_t tail_rows() const { return product.m % rows; }
  int64_t columns() const { return product.n / parts; }

  onednn::Matmul primitive(int64_t of_rows, bool bias, bool pack) const {
    const Product& p = product;
    return onednn::Matmul({.m = of_rows,
                           .n = columns(),
                           .k = p.k,
                           .a_row = p.a_row,
                           .a_column = p.a_column,
                           .b_row = p.b_row,
                           .b_column = p.b_column,
                           .c_row = p.n,
                           .bias = bias,
                           .pack_b = pack});
  }
};

/// Packs b part after part. Returns nothing if the primitive reads b directly.
Tensor pack(const MatmulState& state, const onednn::Matmul& primitive, const float* b) {
  const auto bytes = static_cast<int64_t>(primitive.packed_bytes());
  if (bytes == 0) return {};
  Tensor packed(DType::u8, {state.parts, bytes});
  Tensor scratch(DType::u8, {static_cast<int64_t>(primitive.scratch())});
  for (int64_t part = 0; part < state.parts; ++part) {
    const float* from = b + part * state.columns() * state.product.b_column;
    const Status status = primitive.pack(from, packed.raw() + part * bytes, scratch.raw());
    if (!status.ok()) fail(status.diagnostic());
  }
  return packed;
}

void pack_constant(MatmulState& state, const Tensor& b) {
  const Tensor in_memory = b.in_memory();
  state.packed_body = pack(state, state.body, in_memory.data<float>().data());
  if (state.tail_rows() != 0) state.packed_tail = pack(state, state.tail, in_memory.data<float>().data());
}

Plan plan_of(const Problem& problem, const Product& product, bool bias, Activation activation, size_t operand_b) {
  auto state = std::make_shared<MatmulState>(product);
  state->activation = activation;
  state->activate = elementwise::activation_row(activation.kind, problem.level);
  const Tensor* b = problem.constants[operand_b];
  const bool constant = b != nullptr && product.batches == 1;
  state->body = state->primitive(state->rows, bias, constant);
  Plan plan{.state = state,
            .worker_scratch = state->body.scratch(),
            .phases = {product.batches * state->blocks * state->parts}};
  if (state->tail_rows() != 0) {
    state->tail = state->primitive(state->tail_rows(), bias, constant);
    plan.worker_scratch = std::max(plan.worker_scratch, state->tail.scratch());
  }
  const bool body_packs = state->body.packed_bytes() != 0;
  const bool tail_packs = state->tail_rows() != 0 && state->tail.packed_bytes() != 0;
  if (constant && problem.runs && (body_packs || tail_packs)) pack_constant(*state, *b);
  if (constant && body_packs && (tail_packs || state->tail_rows() == 0)) plan.packed = {operand_b};
  return plan;
}

Plan prepare_linear(const Problem& problem) {
  return plan_of(problem, linear_product(problem), problem.in[Linear::in::b] != nullptr, {}, Linear::in::w);
}
Plan prepare_linear_activation(const Problem& problem) {
  const LinearActivation a(problem.attributes);
  return plan_of(problem, linear_product(problem), problem.in[Linear::in::b] != nullptr,
                 Activation::of(a.activation, a.alpha), Linear::in::w);
}
Plan prepare_matmul(const Problem& problem) {
  return plan_of(problem, matmul_product(problem), false, {}, Matmul::in::b);
}

Status multiply(const Call& call, const float* a, const float* b, const float* bias, int64_t piece) {
  const auto& state = state_of<MatmulState>(call);
  const Product& p = state.product;
  const int64_t part = piece % state.parts, block = piece / state.parts % state.blocks;
  const int64_t batch = piece / state.parts / state.blocks;
  const int64_t row = block * state.rows, column = part * state.columns();
  const bool is_tail = row + state.rows > p.m;
  const onednn::Matmul& primitive = is_tail ? state.tail : state.body;
  const Tensor& packed = is_tail ? state.packed_tail : state.packed_body;
  const void* from_b = packed.defined() ? static_cast<const void*>(packed.raw() + part * primitive.packed_bytes())
                                        : b + batch * p.k * p.n + column * p.b_column;
  const int64_t at = (batch * p.m + row) * p.n + column;
  float* dst = call.out[0].as<float>() + at;
  const Status status = primitive.multiply(a + batch * p.m * p.k + row * p.a_row, from_b,
                                           bias == nullptr ? nullptr : bias + column, dst, call.worker_scratch);
  const auto* residual = residual_of(call).as<const float>();
  if (!status.ok() || (residual == nullptr && state.activation.kind == Activation::Kind::none)) return status;
  const int64_t rows = is_tail ? state.tail_rows() : state.rows;
  for (int64_t i = 0; i < rows; ++i, dst += p.n) {
    for (int64_t j = 0; residual != nullptr && j < state.columns(); ++j) dst[j] += residual[at + i * p.n + j];
    state.activate(state.activation, dst, state.columns());
  }
  return {};
}

Status run_linear(const Call& call, int, int64_t piece) {
  using In = Linear::in;
  return multiply(call, call.in[In::x].as<const float>(), call.in[In::w].as<const float>(),
                  call.in[In::b].as<const float>(), piece);
}
Status run_matmul(const Call& call, int, int64_t piece) {
  return multiply(call, call.in[Matmul::in::a].as<const float>(), call.in[Matmul::in::b].as<const float>(), nullptr,
                  piece);
}

}  // namespace

extern const Kernel cpu_linear_onednn{"onednn", onednn::accept_f32, prepare_linear, run_linear};
extern const Kernel cpu_linear_activation_onednn{"onednn", onednn::accept_f32, prepare_linear_activation, run_linear};
extern const Kernel cpu_matmul_onednn{"onednn", onednn::accept_f32, prepare_matmul, run_matmul};

}  // namespace halfstep::kernels
