// Losses of ONNX. Sums are in double, rounded once.
#include "halfstep/engine/kernels/loss/labelled.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Writes the losses and weights of all targets. A loss is loss(line, target, weight).
template <class Index, class T, class Loss>
Status write_losses(const LossState& s, const Index* targets, const T* weights, double* losses, double* shares,
                    const Loss& loss) {
  std::fill_n(losses, s.axis.lines(), 0.0);
  std::fill_n(shares, s.axis.lines(), 0.0);
  return for_each_target(s, targets, weights, [&](int64_t line, int64_t target, double weight) {
    shares[line] = weight;
    losses[line] = loss(line, target, weight);
  });
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

/// `loss.operator()<T>(x, weights)` returns the function loss(line, target, weight).
template <class In, class Loss>
Status run_labelled(const Call& call, const Loss& loss) {
  const auto& s = state_of<LossState>(call);
  auto* losses = reinterpret_cast<double*>(call.scratch);
  double* shares = losses + s.axis.lines();
  return with_any_float(call.out[0].dtype, [&]<class T>() {
    return with_index(call.in[In::target].dtype, [&]<class Index>() {
      const T* weights = call.in[In::weight].template as<const T>();
      Status status = write_losses(s, call.in[In::target].template as<const Index>(), weights, losses, shares,
                                   loss(call.in[In::x].template as<const T>(), weights));
      if (status.ok()) reduce_losses(s, losses, shares, call.out[0].as<T>());
      return status;
    });
  });
}

Status run_likelihood(const Call& call, int, int64_t) {
  const Axis& axis = state_of<LossState>(call).axis;
  return run_labelled<NegativeLogLikelihood::in>(call, [&]<class T>(const T* x, const T*) {
    return [=](int64_t line, int64_t target, double weight) {
      return -to_double(x[axis.begin(line) + target * axis.inner]) * weight;
    };
  });
}

void write_log_probabilities(const Call& call, const Axis& axis) {
  const View& all = call.out[SoftmaxCrossEntropyLoss::out::log_probabilities];
  if (!all.present()) return;
  with_any_float(all.dtype, [&]<class T>() {
    const T* x = call.in[SoftmaxCrossEntropyLoss::in::x].as<const T>();
    for (int64_t line = 0; line < axis.lines(); ++line) {
      const double partition = partition_of(axis, x, line);
      for (int64_t i = 0; i < axis.extent; ++i) {
        const int64_t at = axis.begin(line) + i * axis.inner;
        all.as<T>()[at] = from_double<T>(to_double(x[at]) - partition);
      }
    }
  });
}

Status run_cross_entropy(const Call& call, int, int64_t) {
  const auto& s = state_of<LossState>(call);
  write_log_probabilities(call, s.axis);
  return run_labelled<SoftmaxCrossEntropyLoss::in>(call, [&]<class T>(const T* x, const T* weights) {
    return [=, &s](int64_t line, int64_t target, double weight) {
      const T* row = x + s.axis.begin(line);
      const double partition = partition_of(s.axis, x, line);
      const double loss = -(to_double(row[target * s.axis.inner]) - partition) * weight;
      if (s.smoothing == 0) return loss;
      double even = 0;
      for (int64_t i = 0; i < s.axis.extent; ++i)
        even += (partition - to_double(row[i * s.axis.inner])) * smoothed_share(s, weights, i);
      return (1 - s.smoothing) * loss + even;
    };
  });
}

}  // namespace

extern const Kernel reference_negative_log_likelihood{"reference", accept_all, prepare_labelled<NegativeLogLikelihood>,
                                                      run_likelihood};
extern const Kernel reference_softmax_cross_entropy_loss{"reference", accept_all,
                                                         prepare_labelled<SoftmaxCrossEntropyLoss>, run_cross_entropy};

}  // namespace halfstep::kernels
