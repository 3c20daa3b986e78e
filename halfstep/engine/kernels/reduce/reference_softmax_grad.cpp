// Gradients of softmax and of its logarithm, from their results. Each line is summed in double, and each element is
// rounded once.
#include <cmath>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/softmax_lines.h"

namespace halfstep::kernels {
namespace {

/// Writes element(out, out_grad, sum) for each element. `sum` is the sum of term(out, out_grad).
template <class Term, class Element>
Status differentiate_lines(const Call& call, int64_t piece, const Term& term, const Element& element) {
  const auto& lines = state_of<SoftmaxLines>(call);
  const int64_t inner = lines.axis.inner;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    lines.for_each(piece, [&](int64_t begin) {
      const T *out = call.in[0].as<const T>() + begin, *out_grad = call.in[1].as<const T>() + begin;
      T* dst = call.out[0].as<T>() + begin;
      double sum = 0;
      for (int64_t i = 0; i < lines.axis.extent; ++i)
        sum += term(to_double(out[i * inner]), to_double(out_grad[i * inner]));
      for (int64_t i = 0; i < lines.axis.extent; ++i)
        dst[i * inner] = from_double<T>(element(to_double(out[i * inner]), to_double(out_grad[i * inner]), sum));
    });
  });
  return {};
}

Status run_softmax_grad(const Call& call, int, int64_t piece) {
  return differentiate_lines(
      call, piece, [](double out, double grad) { return out * grad; },
      [](double out, double grad, double sum) { return out * (grad - sum); });
}

Status run_log_softmax_grad(const Call& call, int, int64_t piece) {
  return differentiate_lines(
      call, piece, [](double, double grad) { return grad; },
      [](double out, double grad, double sum) { return grad - std::exp(out) * sum; });
}

}  // namespace

extern const Kernel reference_softmax_grad{"reference", accept_all, prepare_softmax_lines<SoftmaxGrad>,
                                           run_softmax_grad};
extern const Kernel reference_log_softmax_grad{"reference", accept_all, prepare_softmax_lines<LogSoftmaxGrad>,
                                               run_log_softmax_grad};

}  // namespace halfstep::kernels
