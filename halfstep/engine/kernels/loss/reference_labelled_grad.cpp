// Gradients of ONNX's losses, in double, rounded once.
#include "halfstep/engine/kernels/loss/labelled.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Calls differentiate(x, result, line, target, weight, factor) for each target that is not ignored. `factor` is the
/// derivative of the result over the target's loss. The gradients of ignored targets are 0.
template <class Typed, class T, class Index, class Differentiate>
Status for_each_row(const Call& call, const Differentiate& differentiate) {
  using In = typename Typed::in;
  const auto& s = state_of<LossState>(call);
  const Index* targets = call.in[In::target].template as<const Index>();
  const T *x = call.in[In::x].template as<const T>(), *weights = call.in[In::weight].template as<const T>();
  const T* loss_grad = call.in[In::loss_grad].template as<const T>();
  const bool with_loss = call.in[In::loss_grad].present();
  T* dst = call.out[0].template as<T>();
  std::fill_n(dst, call.out[0].size(), T(0));
  double shares = 0;
  const auto add = [&](int64_t, int64_t, double weight) { shares += weight; };
  if (Status status = for_each_target(s, targets, weights, add); !status.ok()) return status;
  const double divisor = s.reduction == "mean" ? shares : 1;
  const int64_t step = s.reduction == "none" ? 1 : 0;
  return for_each_target(s, targets, weights, [&](int64_t line, int64_t target, double weight) {
    if (with_loss) differentiate(x, dst, line, target, weight, to_double(loss_grad[line * step]) / divisor);
  });
}

Status run_likelihood_grad(const Call& call, int, int64_t) {
  using In = NegativeLogLikelihoodGrad::in;
  const Axis& axis = state_of<LossState>(call).axis;
  return with_any_float(call.out[0].dtype, [&]<class T>() {
    return with_index(call.in[In::target].dtype, [&]<class Index>() {
      return for_each_row<NegativeLogLikelihoodGrad, T, Index>(
          call, [&](const T*, T* dst, int64_t line, int64_t target, double weight, double factor) {
            dst[axis.begin(line) + target * axis.inner] = from_double<T>(-weight * factor);
          });
    });
  });
}

/// Adds the gradient of log(softmax(x)), grad - softmax(x) * sum(grad).
template <class T>
void add_log_probabilities(const Call& call, const Axis& axis) {
  using In = SoftmaxCrossEntropyLossGrad::in;
  const T *x = call.in[In::x].as<const T>(), *grads = call.in[In::log_probabilities_grad].as<const T>();
  T* dst = call.out[0].as<T>();
  for (int64_t line = 0; line < axis.lines(); ++line) {
    const double partition = partition_of(axis, x, line);
    double sum = 0;
    for (int64_t i = 0; i < axis.extent; ++i) sum += to_double(grads[axis.begin(line) + i * axis.inner]);
    for (int64_t i = 0; i < axis.extent; ++i) {
      const int64_t at = axis.begin(line) + i * axis.inner;
      const double grad = to_double(grads[at]) - std::exp(to_double(x[at]) - partition) * sum;
      dst[at] = from_double<T>(to_double(dst[at]) + grad);
    }
  }
}

Status run_cross_entropy_grad(const Call& call, int, int64_t) {
  using In = SoftmaxCrossEntropyLossGrad::in;
  const auto& s = state_of<LossState>(call);
  return with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* weights = call.in[In::weight].as<const T>();
    double even = 0;
    for (int64_t i = 0; i < s.axis.extent; ++i) even += smoothed_share(s, weights, i);
    Status status = with_index(call.in[In::target].dtype, [&]<class Index>() {
      return for_each_row<SoftmaxCrossEntropyLossGrad, T, Index>(
          call, [&](const T* x, T* dst, int64_t line, int64_t target, double weight, double factor) {
            const double partition = partition_of(s.axis, x, line), own = (1 - s.smoothing) * weight;
            for (int64_t i = 0; i < s.axis.extent; ++i) {
              const int64_t at = s.axis.begin(line) + i * s.axis.inner;
              const double share = smoothed_share(s, weights, i) + (i == target ? own : 0);
              dst[at] = from_double<T>((std::exp(to_double(x[at]) - partition) * (own + even) - share) * factor);
            }
          });
    });
    if (status.ok() && call.in[In::log_probabilities_grad].present()) add_log_probabilities<T>(call, s.axis);
    return status;
  });
}

}  // namespace

extern const Kernel reference_negative_log_likelihood_grad{
    "reference", accept_all, prepare_labelled<NegativeLogLikelihoodGrad>, run_likelihood_grad};
extern const Kernel reference_softmax_cross_entropy_loss_grad{
    "reference", accept_all, prepare_labelled<SoftmaxCrossEntropyLossGrad>, run_cross_entropy_grad};

}  // namespace halfstep::kernels
