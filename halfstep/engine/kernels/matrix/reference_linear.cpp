// Matrix products. Every element is one sum in double, in the order of the shared axis, rounded once.
#include <memory>

#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/matrix/product.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct LinearState {
  Product product;
  Activation activation = {};
};

/// Computes row `piece` of the result, counted over all matrices.
template <class T>
void multiply_row(const LinearState& state, const T* a, const T* b, const T* bias, const T* residual, T* dst,
                  int64_t piece) {
  const Product& p = state.product;
  const int64_t batch = piece / p.m, row = piece % p.m;
  a += batch * p.m * p.k + row * p.a_row;
  b += batch * p.k * p.n;
  dst += piece * p.n;
  if (residual != nullptr) residual += piece * p.n;
  for (int64_t column = 0; column < p.n; ++column) {
    double sum = 0.0;
    for (int64_t i = 0; i < p.k; ++i)
      sum += to_double(a[i * p.a_column]) * to_double(b[i * p.b_row + column * p.b_column]);
    if (bias != nullptr) sum += to_double(bias[column]);
    if (residual != nullptr) sum += to_double(residual[column]);
    dst[column] = from_double<T>(sum);
  }
  state.activation.apply(dst, p.n);
}

Plan plan_of(const Product& p, Activation activation) {
  return {.state = std::make_shared<LinearState>(p, activation), .phases = {p.batches * p.m}};
}

Plan prepare_linear(const Problem& problem) { return plan_of(linear_product(problem), {}); }
Plan prepare_linear_activation(const Problem& problem) {
  const LinearActivation a(problem.attributes);
  return plan_of(linear_product(problem), Activation::of(a.activation, a.alpha));
}
Plan prepare_matmul(const Problem& problem) { return plan_of(matmul_product(problem), {}); }

/// Computes linear, with or without a residual and an activation.
Status run_linear(const Call& call, int, int64_t piece) {
  using In = LinearActivation::in;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    multiply_row(state_of<LinearState>(call), call.in[In::x].as<const T>(), call.in[In::w].as<const T>(),
                 call.in[In::b].as<const T>(), residual_of(call).as<const T>(), call.out[0].as<T>(), piece);
  });
  return {};
}

Status run_matmul(const Call& call, int, int64_t piece) {
  using In = Matmul::in;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    multiply_row<T>(state_of<LinearState>(call), call.in[In::a].as<const T>(), call.in[In::b].as<const T>(), nullptr,
                    nullptr, call.out[0].as<T>(), piece);
  });
  return {};
}

}  // namespace

extern const Kernel reference_linear{"reference", accept_all, prepare_linear, run_linear};
extern const Kernel reference_linear_activation{"reference", accept_all, prepare_linear_activation, run_linear};
extern const Kernel reference_matmul{"reference", accept_all, prepare_matmul, run_matmul};

}  // namespace halfstep::kernels
