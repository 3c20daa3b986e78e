// matmul of many small matrices. A piece is a product or some of its rows, and b stays in the cache.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/matrix/product.h"
#include "halfstep/engine/kernels/ops.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/matrix/cpu/tiles.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"
// Include after the targets, because they are compiled once for each.
#include "halfstep/engine/kernels/common/simd/squares-inl.h"
#include "halfstep/engine/kernels/matrix/cpu/tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::matrix::HWY_NAMESPACE {

void multiply_rows(const TileProduct& product, int64_t rows) { multiply(product, rows); }

/// Transposes b, whose columns are contiguous, to rows.
void arrange(const float* columns, const TileProduct& product, float* rows) {
  squares::HWY_NAMESPACE::turn(columns, product.depth, product.columns, product.depth, rows, product.columns);
}

}  // namespace halfstep::kernels::matrix::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace matrix {
namespace {

/// Elements of b that a second-level cache holds together with rows of a.
constexpr int64_t kMostElements = int64_t{1} << 16;
/// Rows of a piece, without and with an arrangement of b. The arrangement costs little compared with the products.
constexpr int64_t kRows = 64, kRowsOfArranged = 256;

struct TilesState {
  Product product;
  decltype(&N_AVX2::multiply_rows) multiply_rows;
  decltype(&N_AVX2::arrange) arrange;
  int64_t rows;  ///< rows of a piece

  TilesState(const Product& p, CpuLevel level)
      : product(p),
        multiply_rows(HS_SIMD_CHOOSE(level, multiply_rows)),
        arrange(HS_SIMD_CHOOSE(level, arrange)),
        rows(ceil_div(p.m, std::max<int64_t>(1, p.m / (arranges() ? kRowsOfArranged : kRows)))) {}

  bool arranges() const { return product.b_column != 1; }
  int64_t blocks() const { return ceil_div(product.m, rows); }
};

Verdict accept_tiles(const Problem& problem) {
  if (Verdict verdict = accept_own_order(problem); !verdict) return verdict;
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (problem.out[0]->dtype != DType::f32)
    return refuse(errors::kernel_takes_other_types("the result", name(problem.out[0]->dtype), "f32"));
  const Product p = matmul_product(problem);
  if (p.k == 0 || count_elements(problem.out[0]->dims) == 0)
    return refuse(errors::kernel_takes_no_empty_operand("an operand"));
  if (p.batches < 2) return refuse(errors::kernel_is_for_other_sizes("one product", "a batch of products"));
  if (p.n * p.k > kMostElements)
    return refuse(errors::kernel_is_for_other_sizes(fmt::format("a second factor of {} elements", p.n * p.k),
                                                    fmt::format("at most {}", kMostElements)));
  return accept();
}

Plan prepare_tiles(const Problem& problem) {
  const Product p = matmul_product(problem);
  auto state = std::make_shared<TilesState>(p, problem.level);
  const auto scratch = static_cast<size_t>(state->arranges() ? p.n * p.k : 0) * sizeof(float);
  const int64_t pieces = p.batches * state->blocks();
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}

Status run_tiles(const Call& call, int, int64_t piece) {
  const auto& state = state_of<TilesState>(call);
  const Product& p = state.product;
  const int64_t batch = piece / state.blocks(), row = piece % state.blocks() * state.rows;
  TileProduct product{.a = call.in[Matmul::in::a].as<const float>() + batch * p.m * p.k + row * p.a_row,
                      .b = call.in[Matmul::in::b].as<const float>() + batch * p.k * p.n,
                      .a_row = p.a_row,
                      .a_column = p.a_column,
                      .b_row = p.n,
                      .depth = p.k,
                      .c = call.out[0].as<float>() + (batch * p.m + row) * p.n,
                      .c_row = p.n,
                      .columns = p.n};
  if (state.arranges()) {
    auto* rows = reinterpret_cast<float*>(call.worker_scratch);
    state.arrange(product.b, product, rows);
    product.b = rows;
  }
  state.multiply_rows(product, std::min(state.rows, p.m - row));
  return {};
}

}  // namespace
}  // namespace matrix

extern const Kernel cpu_matmul_tiles{"tiles", matrix::accept_tiles, matrix::prepare_tiles, matrix::run_tiles};

}  // namespace halfstep::kernels
#endif
