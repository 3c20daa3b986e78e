// Softmax, its logarithm and its limit along an axis. Each line is computed in double from its largest element down, so
// that no exponential overflows.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/base/divide.h"
#include "halfstep/kernels/common/axis.h"
#include "halfstep/kernels/ops.h"
#include "halfstep/kernels/reduce/softmax.h"

namespace halfstep::kernels {
namespace {

constexpr int64_t kPiece = 8192;

struct Lines {
  Axis axis;
  int64_t per_piece() const { return std::max<int64_t>(1, kPiece / std::max<int64_t>(1, axis.extent)); }
};

template <class Typed>
Plan prepare_lines(const Problem& problem) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[0]->dims;
  Lines lines{Axis(x, a.axis)};
  if (a.flattened) lines.axis = Axis(lines.axis.outer, lines.axis.extent * lines.axis.inner, 1);
  const int64_t count = lines.axis.extent == 0 ? 0 : lines.axis.lines();
  return {.state = std::make_shared<Lines>(lines),
          .worker_scratch = static_cast<size_t>(lines.axis.extent) * sizeof(double),
          .phases = {ceil_div(count, lines.per_piece())}};
}

/// `rule.operator()<T>(values, count)` changes each line of doubles into its result.
template <class Rule>
Status run_lines(const Call& call, int64_t piece, const Rule& rule) {
  const auto& lines = state_of<Lines>(call);
  const Axis& axis = lines.axis;
  auto* values = reinterpret_cast<double*>(call.worker_scratch);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const int64_t end = std::min(axis.lines(), (piece + 1) * lines.per_piece());
    for (int64_t line = piece * lines.per_piece(); line < end; ++line) {
      const T* src = call.in[0].as<const T>() + axis.begin(line);
      T* dst = call.out[0].as<T>() + axis.begin(line);
      for (int64_t i = 0; i < axis.extent; ++i) values[i] = to_double(src[i * axis.inner]);
      rule.template operator()<T>(values, axis.extent);
      for (int64_t i = 0; i < axis.extent; ++i) dst[i * axis.inner] = from_double<T>(values[i]);
    }
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

extern const Kernel reference_softmax{"reference", accept_all, prepare_lines<Softmax>, run_softmax};
extern const Kernel reference_log_softmax{"reference", accept_all, prepare_lines<LogSoftmax>, run_log_softmax};
extern const Kernel reference_hardmax{"reference", accept_all, prepare_lines<Hardmax>, run_hardmax};

}  // namespace halfstep::kernels
