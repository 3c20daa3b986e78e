// Normalizations without factors: by neighbouring channels, by the norm along an axis, and by the mean and variance
// over axes. Each has its gradient. Sums are in double, and each element is rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/axes.h"
#include "halfstep/engine/kernels/reduce/groups.h"

namespace halfstep::kernels {
namespace {

// local_response_norm

struct ResponseState {
  int64_t channels, plane;
  LocalResponseNorm attributes;

  int64_t before() const { return (attributes.size - 1) / 2; }
  int64_t after() const { return attributes.size / 2; }
  double factor() const { return attributes.alpha / static_cast<double>(attributes.size); }
};

std::shared_ptr<const ResponseState> response_state(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  int64_t plane = 1;
  for (size_t i = 2; i < x.size(); ++i) plane *= x[i];
  return std::make_shared<ResponseState>(x[1], plane, LocalResponseNorm(problem.attributes));
}

Plan prepare_response(const Problem& problem) {
  const auto state = response_state(problem);
  return {.state = state,
          .worker_scratch = static_cast<size_t>(state->plane) * sizeof(double),
          .phases = {state->plane == 0 ? 0 : problem.in[0]->dims[0] * state->channels}};
}

/// Sums term(element) over the channels from `before` in front of `channel` to `after` behind it, for each place.
template <class Term>
void sum_channels(const ResponseState& s, int64_t channel, int64_t before, int64_t after, double* sums,
                  const Term& term) {
  std::fill_n(sums, s.plane, 0.0);
  const int64_t first = std::max<int64_t>(0, channel - before), last = std::min(s.channels - 1, channel + after);
  for (int64_t c = first; c <= last; ++c) {
    for (int64_t i = 0; i < s.plane; ++i) sums[i] += term(c * s.plane + i);
  }
}

/// The numbers by whose power beta the elements of a channel are divided.
template <class T>
void find_bases(const ResponseState& s, const T* image, int64_t channel, double* bases) {
  sum_channels(s, channel, s.before(), s.after(), bases, [&](int64_t i) {
    const double value = to_double(image[i]);
    return value * value;
  });
  for (int64_t i = 0; i < s.plane; ++i) bases[i] = s.attributes.bias + s.factor() * bases[i];
}

Status run_response(const Call& call, int, int64_t piece) {
  const auto& s = state_of<ResponseState>(call);
  const int64_t channel = piece % s.channels;
  auto* bases = reinterpret_cast<double*>(call.worker_scratch);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* image = call.in[0].as<const T>() + (piece - channel) * s.plane;
    find_bases(s, image, channel, bases);
    T* dst = call.out[0].as<T>() + piece * s.plane;
    for (int64_t i = 0; i < s.plane; ++i)
      dst[i] = from_double<T>(to_double(image[channel * s.plane + i]) / std::pow(bases[i], s.attributes.beta));
  });
  return {};
}

Plan prepare_response_grad(const Problem& problem) {
  const auto state = response_state(problem);
  const auto doubles = static_cast<size_t>((2 * state->channels + 1) * state->plane);
  return {.state = state, .worker_scratch = doubles * sizeof(double), .phases = {problem.in[0]->dims[0]}};
}

/// An element changes its own result, and the bases of the channels that have it among their neighbours.
Status run_response_grad(const Call& call, int, int64_t piece) {
  using In = LocalResponseNormGrad::in;
  const auto& s = state_of<ResponseState>(call);
  const int64_t size = s.channels * s.plane;
  auto* bases = reinterpret_cast<double*>(call.worker_scratch);
  double *shares = bases + size, *sums = shares + size;
  const double beta = s.attributes.beta;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* image = call.in[In::x].as<const T>() + piece * size;
    const T* out_grad = call.in[In::out_grad].as<const T>() + piece * size;
    T* dst = call.out[0].as<T>() + piece * size;
    for (int64_t c = 0; c < s.channels; ++c) find_bases(s, image, c, bases + c * s.plane);
    for (int64_t i = 0; i < size; ++i)
      shares[i] = to_double(out_grad[i]) * to_double(image[i]) * std::pow(bases[i], -beta - 1);
    for (int64_t c = 0; c < s.channels; ++c) {
      sum_channels(s, c, s.after(), s.before(), sums, [&](int64_t i) { return shares[i]; });
      for (int64_t k = 0; k < s.plane; ++k) {
        const int64_t i = c * s.plane + k;
        const double own = to_double(out_grad[i]) * std::pow(bases[i], -beta);
        dst[i] = from_double<T>(own - 2 * beta * s.factor() * to_double(image[i]) * sums[k]);
      }
    }
  });
  return {};
}

// lp_normalization

struct LpState {
  Axis axis;
  int64_t p;
};

Plan prepare_lp(const Problem& problem) {
  const LpNormalization a(problem.attributes);
  const Axis axis(problem.in[0]->dims, a.axis);
  return {.state = std::make_shared<LpState>(axis, a.p), .phases = {axis.lines()}};
}

template <class T>
double norm_of(const LpState& s, const T* line) {
  double norm = 0;
  for (int64_t i = 0; i < s.axis.extent; ++i) {
    const double value = to_double(line[i * s.axis.inner]);
    norm += s.p == 1 ? std::fabs(value) : value * value;
  }
  return s.p == 2 ? std::sqrt(norm) : norm;
}

Status run_lp(const Call& call, int, int64_t piece) {
  const auto& s = state_of<LpState>(call);
  const int64_t begin = s.axis.begin(piece);
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>() + begin;
    const double norm = norm_of(s, src);
    T* dst = call.out[0].as<T>() + begin;
    for (int64_t i = 0; i < s.axis.extent * s.axis.inner; i += s.axis.inner)
      dst[i] = from_double<T>(norm == 0 ? 0.0 : to_double(src[i]) / norm);
  });
  return {};
}

Status run_lp_grad(const Call& call, int, int64_t piece) {
  using In = LpNormalizationGrad::in;
  const auto& s = state_of<LpState>(call);
  const int64_t begin = s.axis.begin(piece), end = s.axis.extent * s.axis.inner, step = s.axis.inner;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[In::x].as<const T>() + begin;
    const T* out_grad = call.in[In::out_grad].as<const T>() + begin;
    T* dst = call.out[0].as<T>() + begin;
    const double norm = norm_of(s, src);
    double sum = 0;
    for (int64_t i = 0; i < end; i += step) sum += to_double(out_grad[i]) * to_double(src[i]);
    for (int64_t i = 0; i < end; i += step) {
      const double x = to_double(src[i]);
      const double slope = s.p == 2 ? x / norm : static_cast<double>((x > 0) - (x < 0));
      const double gradient = (to_double(out_grad[i]) - slope * sum / norm) / norm;
      dst[i] = from_double<T>(norm == 0 ? 0.0 : gradient);
    }
  });
  return {};
}

// mean_variance_normalization

constexpr double kLeastDeviation = 1e-9;  ///< added to the deviation

template <int kNumbers>
Plan prepare_mean_variance(const Problem& problem) {
  const Dims& x = problem.in[0]->dims;
  auto state = std::make_shared<Groups>(x, keepdims_extents(x, MeanVarianceNormalization(problem.attributes).axes));
  const int64_t pieces = state->pieces();
  const auto scratch = static_cast<size_t>(state->results()) * kNumbers * sizeof(double);
  return {.state = std::move(state), .scratch = scratch, .phases = {pieces}};
}

/// Calls term(element, result) for every element of a piece.
template <class Term>
void for_each(const Groups& groups, int64_t piece, const Term& term) {
  groups.for_each_run(piece, [&](int64_t first, int64_t result, int64_t count, bool together) {
    for (int64_t i = 0; i < count; ++i) term(first + i, together ? result : result + i);
  });
}

/// The means of term(element, result) by result, for a piece.
template <class Term>
void find_means(const Groups& groups, int64_t piece, double* means, const Term& term) {
  double *begin = means + piece * groups.piece_results(), *end = begin + groups.piece_results();
  std::fill(begin, end, 0.0);
  for_each(groups, piece, [&](int64_t i, int64_t result) { means[result] += term(i, result); });
  for (; begin != end; ++begin) *begin /= static_cast<double>(groups.count());
}

/// Mean and variance of x by result.
template <class T>
void find_moments(const Groups& groups, int64_t piece, const T* x, double* means, double* variances) {
  find_means(groups, piece, means, [&](int64_t i, int64_t) { return to_double(x[i]); });
  find_means(groups, piece, variances, [&](int64_t i, int64_t result) {
    const double rest = to_double(x[i]) - means[result];
    return rest * rest;
  });
}

Status run_mean_variance(const Call& call, int, int64_t piece) {
  const auto& groups = state_of<Groups>(call);
  auto* means = reinterpret_cast<double*>(call.scratch);
  double* variances = means + groups.results();
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>();
    find_moments(groups, piece, src, means, variances);
    T* dst = call.out[0].as<T>();
    for_each(groups, piece, [&](int64_t i, int64_t result) {
      dst[i] = from_double<T>((to_double(src[i]) - means[result]) / (std::sqrt(variances[result]) + kLeastDeviation));
    });
  });
  return {};
}

/// The mean and the deviation of x depend on all elements of a result.
Status run_mean_variance_grad(const Call& call, int, int64_t piece) {
  using In = MeanVarianceNormalizationGrad::in;
  const auto& groups = state_of<Groups>(call);
  auto* means = reinterpret_cast<double*>(call.scratch);
  double *variances = means + groups.results(), *of_grad = variances + groups.results(),
         *of_product = of_grad + groups.results();
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T *src = call.in[In::x].as<const T>(), *out_grad = call.in[In::out_grad].as<const T>();
    find_moments(groups, piece, src, means, variances);
    const auto centered = [&](int64_t i, int64_t result) { return to_double(src[i]) - means[result]; };
    find_means(groups, piece, of_grad, [&](int64_t i, int64_t) { return to_double(out_grad[i]); });
    find_means(groups, piece, of_product,
               [&](int64_t i, int64_t result) { return to_double(out_grad[i]) * centered(i, result); });
    T* dst = call.out[0].as<T>();
    for_each(groups, piece, [&](int64_t i, int64_t result) {
      const double deviation = std::sqrt(variances[result]), divisor = deviation + kLeastDeviation;
      const double through_deviation =
          deviation == 0 ? 0 : centered(i, result) * of_product[result] / (deviation * divisor);
      dst[i] = from_double<T>((to_double(out_grad[i]) - of_grad[result] - through_deviation) / divisor);
    });
  });
  return {};
}

}  // namespace

extern const Kernel reference_local_response_norm{"reference", accept_all, prepare_response, run_response};
extern const Kernel reference_local_response_norm_grad{"reference", accept_all, prepare_response_grad,
                                                       run_response_grad};
extern const Kernel reference_lp_normalization{"reference", accept_all, prepare_lp, run_lp};
extern const Kernel reference_lp_normalization_grad{"reference", accept_all, prepare_lp, run_lp_grad};
extern const Kernel reference_mean_variance_normalization{"reference", accept_all, prepare_mean_variance<2>,
                                                          run_mean_variance};
extern const Kernel reference_mean_variance_normalization_grad{"reference", accept_all, prepare_mean_variance<4>,
                                                               run_mean_variance_grad};

}  // namespace halfstep::kernels
