// The gradients of matmul_broadcast. Gradients of an operand that several batches share are summed over them too. Sums
// are in double, rounded once.
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/matrix/batches.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

Plan prepare_product_grad(const Problem& problem) {
  using In = MatmulBroadcastGrad::in;
  const Dims &a = problem.in[In::a]->dims, &b = problem.in[In::b]->dims;
  return {.state = std::make_shared<MatmulShape>(a, b, problem.in[In::out_grad]->dims),
          .scratch = static_cast<size_t>(count_elements(a) + count_elements(b)) * sizeof(double)};
}

/// Adds the gradients of one product to the sums of a and b.
template <class T>
void add_product(const MatmulShape& s, const T* a, const T* b, const T* out_grad, double* a_sums, double* b_sums) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const T* grads = out_grad + row * s.columns;
    for (int64_t k = 0; k < s.inner; ++k) {
      const double factor = to_double(a[row * s.inner + k]);
      double sum = 0;
      for (int64_t j = 0; j < s.columns; ++j) {
        const double grad = to_double(grads[j]);
        sum += grad * to_double(b[k * s.columns + j]);
        b_sums[k * s.columns + j] += factor * grad;
      }
      a_sums[row * s.inner + k] += sum;
    }
  }
}

Status run_product_grad(const Call& call, int, int64_t) {
  using In = MatmulBroadcastGrad::in;
  const auto& s = state_of<MatmulShape>(call);
  const int64_t a_size = call.in[In::a].size(), b_size = call.in[In::b].size();
  auto* a_sums = reinterpret_cast<double*>(call.scratch);
  double* b_sums = a_sums + a_size;
  std::fill_n(a_sums, a_size + b_size, 0.0);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    for (int64_t batch = 0; batch < s.batches(); ++batch) {
      const int64_t a = s.a_batch[static_cast<size_t>(batch)] * s.rows * s.inner;
      const int64_t b = s.b_batch[static_cast<size_t>(batch)] * s.inner * s.columns;
      add_product(s, call.in[In::a].as<const T>() + a, call.in[In::b].as<const T>() + b,
                  call.in[In::out_grad].as<const T>() + batch * s.rows * s.columns, a_sums + a, b_sums + b);
    }
    for (int64_t i = 0; i < a_size; ++i) call.out[0].as<T>()[i] = from_double<T>(a_sums[i]);
    for (int64_t i = 0; i < b_size; ++i) call.out[1].as<T>()[i] = from_double<T>(b_sums[i]);
  });
  return {};
}

}  // namespace

extern const Kernel reference_matmul_broadcast_grad{"reference", accept_all, prepare_product_grad, run_product_grad};

}  // namespace halfstep::kernels
