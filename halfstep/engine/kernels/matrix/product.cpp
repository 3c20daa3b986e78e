#include "halfstep/engine/kernels/matrix/product.h"

#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {

Product linear_product(const Problem& problem) {
  const Dims& x = problem.in[Linear::in::x]->dims;
  const int64_t k = x[1];
  return {.batches = 1,
          .m = x[0],
          .n = problem.out[0]->dims[1],
          .k = k,
          .a_row = k,
          .a_column = 1,
          .b_row = 1,
          .b_column = k};
}

Product matmul_product(const Problem& problem) {
  const Matmul attributes(problem.attributes);
  const Dims& a = problem.in[Matmul::in::a]->dims;
  const Dims& out = problem.out[0]->dims;
  const size_t rank = a.size();
  Product p{.batches = 1,
            .m = out[rank - 2],
            .n = out[rank - 1],
            .k = 0,
            .a_row = 1,
            .a_column = 1,
            .b_row = 1,
            .b_column = 1};
  for (size_t i = 0; i + 2 < rank; ++i) p.batches *= a[i];
  p.k = a[attributes.transpose_a ? rank - 2 : rank - 1];
  (attributes.transpose_a ? p.a_column : p.a_row) = attributes.transpose_a ? p.m : p.k;
  (attributes.transpose_b ? p.b_column : p.b_row) = attributes.transpose_b ? p.k : p.n;
  return p;
}

ConstView residual_of(const Call& call) {
  static_assert(Linear::in::x == LinearActivation::in::x && Linear::in::w == LinearActivation::in::w &&
                Linear::in::b == LinearActivation::in::b);
  constexpr size_t port = LinearActivation::in::residual;
  return port < call.in.size() ? call.in[port] : ConstView();
}

}  // namespace halfstep::kernels
