// linear, linear_activation and matmul with the sums of the reference. Each is in double, in the order of the shared
// axis, and rounded once. The product of two floats is exact in double, so that a fused multiply-add rounds like a
// multiplication and an addition. The lanes of a vector are neighbouring columns. This kernel runs where results must
// have equal bits on every level. Elsewhere oneDNN, which is tried first, is faster.
#include <algorithm>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/matrix/product.h"
#include "halfstep/engine/kernels/ops.h"

#define HS_LEVEL_SOURCE "halfstep/engine/kernels/matrix/cpu/doubles.cpp"
#include "halfstep/engine/kernels/common/simd/each_level.h"

#ifndef HALFSTEP_KERNELS_LINEAR_DOUBLES
#define HALFSTEP_KERNELS_LINEAR_DOUBLES
namespace halfstep::kernels::matrix {

/// Columns that are summed together.
constexpr int64_t kPanel = 16;

/// Some rows of a, with strides in elements, and kPanel columns of b as doubles, row by row.
struct Panel {
  const float* a;
  int64_t a_row, a_column;
  const double* b;
  int64_t k;
};

}  // namespace halfstep::kernels::matrix
#endif

HWY_BEFORE_NAMESPACE();
namespace halfstep::kernels::matrix::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
constexpr int64_t kLanes = hn::MaxLanes(Wide());
constexpr int64_t kVectors = kPanel / kLanes;
/// Rows whose sums fit into 12 of the 32 or 16 registers.
constexpr int64_t kRows = 12 / kVectors;

template <int64_t rows>
HWY_INLINE void sum_rows(const Panel& panel, double* sums) {
  const Wide d;
  hn::Vec<Wide> total[rows][kVectors];
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t v = 0; v < kVectors; ++v) total[row][v] = hn::Zero(d);
  }
  const float* a = panel.a;
  const double* b = panel.b;
  for (int64_t i = 0; i < panel.k; ++i, a += panel.a_column, b += kPanel) {
    for (int64_t row = 0; row < rows; ++row) {
      const auto factor = hn::Set(d, double{a[row * panel.a_row]});
      for (int64_t v = 0; v < kVectors; ++v)
        total[row][v] = hn::MulAdd(factor, hn::Load(d, b + v * kLanes), total[row][v]);
    }
  }
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t v = 0; v < kVectors; ++v) hn::Store(total[row][v], d, sums + row * kPanel + v * kLanes);
  }
}

/// Writes sums[row * kPanel + column] for as many of `rows` rows as it can. Returns their number.
int64_t sum_panel(const Panel& panel, int64_t rows, double* sums) {
  if (rows < kRows) {
    sum_rows<1>(panel, sums);
    return 1;
  }
  sum_rows<kRows>(panel, sums);
  return kRows;
}

}  // namespace halfstep::kernels::matrix::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halfstep::kernels {
namespace matrix {
namespace {

constexpr int64_t kMostRows = 12;
/// Rows of a piece. With this many, the arrangement of b costs little compared with the products.
constexpr int64_t kBlock = 256;

struct DoublesState {
  Product product;
  Activation activation;
  decltype(&N_AVX2::sum_panel) sum_panel;

  int64_t blocks() const { return ceil_div(product.m, kBlock); }
  int64_t panels() const { return ceil_div(product.n, kPanel); }
};

Verdict accept_doubles(const Problem& problem) {
  if (Verdict verdict = accept_simd(problem); !verdict) return verdict;
  if (problem.out[0]->dtype != DType::f32)
    return refuse(errors::kernel_takes_other_types("the result", name(problem.out[0]->dtype), "f32"));
  if (count_elements(problem.out[0]->dims) == 0) return refuse(errors::kernel_takes_no_empty_operand("the result"));
  return accept();
}

Plan plan_of(const Problem& problem, const Product& product, Activation activation) {
  auto state = std::make_shared<DoublesState>(product, activation, HS_SIMD_CHOOSE(problem.level, sum_panel));
  const auto doubles = static_cast<size_t>((product.k + kMostRows) * kPanel);
  const int64_t pieces = product.batches * state->blocks() * state->panels();
  return {.state = std::move(state), .worker_scratch = doubles * sizeof(double), .phases = {pieces}};
}

Plan prepare_linear(const Problem& problem) { return plan_of(problem, linear_product(problem), {}); }
Plan prepare_linear_activation(const Problem& problem) {
  const LinearActivation a(problem.attributes);
  return plan_of(problem, linear_product(problem), Activation::of(a.activation, a.alpha));
}
Plan prepare_matmul(const Problem& problem) { return plan_of(problem, matmul_product(problem), {}); }

/// The columns of a panel as doubles. Missing columns are 0.
void arrange(const Product& p, const float* b, int64_t columns, double* panel) {
  std::fill_n(panel, p.k * kPanel, 0.0);
  for (int64_t i = 0; i < p.k; ++i) {
    for (int64_t j = 0; j < columns; ++j) panel[i * kPanel + j] = double{b[i * p.b_row + j * p.b_column]};
  }
}

/// Terms that are added to the sums. Either may be null.
struct Added {
  const float* bias = nullptr;
  const float* residual = nullptr;
};

void multiply(const Call& call, const float* a, const float* b, const Added& added, int64_t piece) {
  const auto& state = state_of<DoublesState>(call);
  const Product& p = state.product;
  const int64_t column = piece % state.panels() * kPanel, columns = std::min(kPanel, p.n - column);
  const int64_t block = piece / state.panels() % state.blocks(), batch = piece / state.panels() / state.blocks();
  auto* sums = reinterpret_cast<double*>(call.worker_scratch);
  double* panel = sums + kMostRows * kPanel;
  arrange(p, b + batch * p.k * p.n + column * p.b_column, columns, panel);
  const int64_t end = std::min(p.m, (block + 1) * kBlock);
  for (int64_t row = block * kBlock; row < end;) {
    const Panel part{a + batch * p.m * p.k + row * p.a_row, p.a_row, p.a_column, panel, p.k};
    const int64_t done = state.sum_panel(part, end - row, sums);
    for (int64_t r = 0; r < done; ++r, ++row) {
      const int64_t at = (batch * p.m + row) * p.n + column;
      float* dst = call.out[0].as<float>() + at;
      for (int64_t j = 0; j < columns; ++j) {
        double sum = sums[r * kPanel + j];
        if (added.bias != nullptr) sum += double{added.bias[column + j]};
        if (added.residual != nullptr) sum += double{added.residual[at + j]};
        dst[j] = static_cast<float>(sum);
      }
      state.activation.apply(dst, columns);
    }
  }
}

Status run_linear(const Call& call, int, int64_t piece) {
  using In = Linear::in;
  const Added added{call.in[In::b].as<const float>(), residual_of(call).as<const float>()};
  multiply(call, call.in[In::x].as<const float>(), call.in[In::w].as<const float>(), added, piece);
  return {};
}
Status run_matmul(const Call& call, int, int64_t piece) {
  multiply(call, call.in[Matmul::in::a].as<const float>(), call.in[Matmul::in::b].as<const float>(), {}, piece);
  return {};
}

}  // namespace
}  // namespace matrix

extern const Kernel cpu_linear_doubles{"doubles", matrix::accept_doubles, matrix::prepare_linear, matrix::run_linear};
extern const Kernel cpu_linear_activation_doubles{"doubles", matrix::accept_doubles, matrix::prepare_linear_activation,
                                                  matrix::run_linear};
extern const Kernel cpu_matmul_doubles{"doubles", matrix::accept_doubles, matrix::prepare_matmul, matrix::run_matmul};

}  // namespace halfstep::kernels
#endif
