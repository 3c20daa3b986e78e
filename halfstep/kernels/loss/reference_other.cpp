// Losses as ONNX has them: sums in double, rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/kernels/common/axis.h"
#include "halfstep/kernels/common/number_types.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct LossState {
  Axis axis;  ///< the classes
  std::string reduction;
  int64_t ignored;
};

template <class Typed>
Plan prepare_loss(const Problem& problem) {
  const Typed a(problem.attributes);
  const Axis axis(problem.in[0]->dims, 1);
  const auto scratch = static_cast<size_t>(2 * axis.lines()) * sizeof(double);
  return {.state = std::make_shared<LossState>(axis, a.reduction, a.ignore_index), .scratch = scratch};
}

/// Losses and weights of all targets: log_probability(line, class).
template <class Index, class T, class Probability>
Status write_losses(const LossState& s, const Index* targets, const T* weights, double* losses, double* shares,
                    const Probability& log_probability) {
  for (int64_t line = 0; line < s.axis.lines(); ++line) {
    const auto target = static_cast<int64_t>(targets[line]);
    losses[line] = shares[line] = 0;
    if (target == s.ignored) continue;
    if (target < 0 || target >= s.axis.extent)
      return Status(fmt::format("target {} at {} is not in 0..{}", target, line, s.axis.extent - 1));
    shares[line] = weights == nullptr ? 1 : to_double(weights[target]);
    losses[line] = -log_probability(line, target) * shares[line];
  }
  return {};
}

template <class T>
void reduce_losses(const LossState& s, const double* losses, const double* shares, T* dst) {
  const int64_t count = s.axis.lines();
  if (s.reduction == "none") {
    for (int64_t i = 0; i < count; ++i) dst[i] = from_double<T>(losses[i]);
    return;
  }
  double sum = 0, share = 0;
  for (int64_t i = 0; i < count; ++i) {
    sum += losses[i];
    share += shares[i];
  }
  *dst = from_double<T>(s.reduction == "mean" ? sum / share : sum);
}

Status run_likelihood(const Call& call, int, int64_t) {
  using In = NegativeLogLikelihood::in;
  const auto& s = state_of<LossState>(call);
  auto* losses = reinterpret_cast<double*>(call.scratch);
  double* shares = losses + s.axis.lines();
  return with_any_float(call.out[0].dtype, [&]<class T>() {
    return with_index(call.in[In::target].dtype, [&]<class Index>() {
      const T* x = call.in[In::x].as<const T>();
      Status status = write_losses(
          s, call.in[In::target].as<const Index>(), call.in[In::weight].as<const T>(), losses, shares,
          [&](int64_t line, int64_t target) { return to_double(x[s.axis.begin(line) + target * s.axis.inner]); });
      if (status.ok()) reduce_losses(s, losses, shares, call.out[0].as<T>());
      return status;
    });
  });
}

/// Logarithm of the sum of exponentials of a line.
template <class T>
double partition_of(const Axis& axis, const T* x, int64_t line) {
  const T* src = x + axis.begin(line);
  double largest = to_double(src[0]), sum = 0;
  for (int64_t i = 1; i < axis.extent; ++i) largest = std::max(largest, to_double(src[i * axis.inner]));
  for (int64_t i = 0; i < axis.extent; ++i) sum += std::exp(to_double(src[i * axis.inner]) - largest);
  return largest + std::log(sum);
}

Status run_cross_entropy(const Call& call, int, int64_t) {
  using In = SoftmaxCrossEntropyLoss::in;
  using Out = SoftmaxCrossEntropyLoss::out;
  const auto& s = state_of<LossState>(call);
  auto* losses = reinterpret_cast<double*>(call.scratch);
  double* shares = losses + s.axis.lines();
  return with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* x = call.in[In::x].as<const T>();
    if (const View& all = call.out[Out::log_probabilities]; all.present()) {
      for (int64_t line = 0; line < s.axis.lines(); ++line) {
        const double partition = partition_of(s.axis, x, line);
        for (int64_t i = 0; i < s.axis.extent; ++i) {
          const int64_t at = s.axis.begin(line) + i * s.axis.inner;
          all.as<T>()[at] = from_double<T>(to_double(x[at]) - partition);
        }
      }
    }
    return with_index(call.in[In::target].dtype, [&]<class Index>() {
      Status status = write_losses(s, call.in[In::target].as<const Index>(), call.in[In::weight].as<const T>(), losses,
                                   shares, [&](int64_t line, int64_t target) {
                                     return to_double(x[s.axis.begin(line) + target * s.axis.inner]) -
                                            partition_of(s.axis, x, line);
                                   });
      if (status.ok()) reduce_losses(s, losses, shares, call.out[0].as<T>());
      return status;
    });
  });
}

}  // namespace

extern const Kernel reference_negative_log_likelihood{"reference", accept_all, prepare_loss<NegativeLogLikelihood>,
                                                      run_likelihood};
extern const Kernel reference_softmax_cross_entropy_loss{"reference", accept_all, prepare_loss<SoftmaxCrossEntropyLoss>,
                                                         run_cross_entropy};

}  // namespace halfstep::kernels
