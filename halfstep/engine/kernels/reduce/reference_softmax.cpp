// Softmax, its logarithm and its limit along an axis. Each line is computed in double relative to its largest element,
// so that no exponential overflows.
#include <algorithm>
#include <cmath>

#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/softmax.h"
#include "halfstep/engine/kernels/reduce/softmax_lines.h"

namespace halfstep::kernels {
namespace {

/// `rule.operator()<T>(values, count)` replaces each line of doubles by its result.
template <class Rule>
Status run_lines(const Call& call, int64_t piece, const Rule& rule) {
  const auto& lines = state_of<SoftmaxLines>(call);
  const Axis& axis = lines.axis;
  auto* values = reinterpret_cast<double*>(call.worker_scratch);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    lines.for_each(piece, [&](int64_t begin) {
      const T* src = call.in[0].as<const T>() + begin;
      T* dst = call.out[0].as<T>() + begin;
      for (int64_t i = 0; i < axis.extent; ++i) values[i] = to_double(src[i * axis.inner]);
      rule.template operator()<T>(values, axis.extent);
      for (int64_t i = 0; i < axis.extent; ++i) dst[i * axis.inner] = from_double<T>(values[i]);
    });
  });
  return {};
}

Status run_softmax(const Call& call, int, int64_t piece) {
  return run_lines(call, piece, []<class T>(double* values, int64_t count) { softmax<T>(values, count); });
}

Status run_log_softmax(const Call& call, int, int64_t piece) {
  return run_lines(call, piece, []<class T>(double* values, int64_t count) {
    const double largest = *std::max_element(values, values + count);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += std::exp(values[i] - largest);
    const double partition = largest + std::log(sum);
    for (int64_t i = 0; i < count; ++i) values[i] -= partition;
  });
}

Status run_hardmax(const Call& call, int, int64_t piece) {
  return run_lines(call, piece, []<class T>(double* values, int64_t count) {
    const auto place = std::max_element(values, values + count) - values;
    std::fill_n(values, count, 0.0);
    values[place] = 1;
  });
}

}  // namespace

extern const Kernel reference_softmax{"reference", accept_all, prepare_softmax_lines<Softmax>, run_softmax};
extern const Kernel reference_log_softmax{"reference", accept_all, prepare_softmax_lines<LogSoftmax>, run_log_softmax};
extern const Kernel reference_hardmax{"reference", accept_all, prepare_softmax_lines<Hardmax>, run_hardmax};

}  // namespace halfstep::kernels
