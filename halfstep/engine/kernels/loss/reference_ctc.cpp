// Connectionist temporal classification. Sums of probabilities are logarithms in double.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

using In = CtcLossGrad::in;  // CtcLoss has the same operands without the last

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_sum(double a, double b) {
  const double larger = std::max(a, b);
  return larger == kNever ? kNever : larger + std::log1p(std::exp(std::min(a, b) - larger));
}

struct Extents {
  int64_t samples, steps, classes, labels, blank;
  /// Positions of an alignment: the labels, with a blank before, between and behind them.
  int64_t positions() const { return 2 * labels + 1; }
  /// Scratch of a sample: two rows of positions, and for a gradient one for each step, two and one of classes.
  int64_t loss_doubles() const { return 2 * positions(); }
  int64_t gradient_doubles() const { return (steps + 2) * positions() + classes; }
};

/// One sample.
template <class T, class Index>
struct Sample {
  Sample(const Call& call, const Extents& e, int64_t number)
      : log_probs(call.in[In::log_probs].as<const T>() + number * e.steps * e.classes),
        target(call.in[In::target].as<const Index>() + number * e.labels),
        steps(call.in[In::input_lengths].as<const Index>()[number]),
        labels(call.in[In::target_lengths].as<const Index>()[number]),
        classes(e.classes),
        blank(e.blank) {}

  int64_t positions() const { return 2 * labels + 1; }
  int64_t class_at(int64_t position) const { return position % 2 == 0 ? blank : target[position / 2]; }
  double at(int64_t step, int64_t position) const { return to_double(log_probs[step * classes + class_at(position)]); }
  /// Whether the position may follow the one two before it.
  bool skips(int64_t position) const {
    return position >= 2 && position % 2 == 1 && class_at(position) != class_at(position - 2);
  }
  /// Steps that the shortest alignment has: the labels, and a blank between equal ones.
  int64_t needed() const {
    int64_t count = labels;
    for (int64_t i = 1; i < labels; ++i) count += target[i] == target[i - 1] ? 1 : 0;
    return count;
  }

  const T* log_probs;
  const Index* target;
  int64_t steps, labels, classes, blank;
};

template <class T, class Index>
Status check(const Sample<T, Index>& sample, const Extents& e, int64_t number) {
  const auto refuse = [&](const char* what, int64_t found, const std::string& expected) {
    return Status(errors::operand_index_out_of_range(fmt::format("{} of sample {}", what, number), found, expected));
  };
  if (sample.steps < 0 || sample.steps > e.steps)
    return refuse("input length", sample.steps, fmt::format("0 to {}", e.steps));
  if (sample.labels < 0 || sample.labels > e.labels)
    return refuse("target length", sample.labels, fmt::format("0 to {}", e.labels));
  for (int64_t i = 0; i < sample.labels; ++i) {
    if (sample.target[i] < 0 || sample.target[i] >= e.classes || sample.target[i] == e.blank)
      return refuse("label", sample.target[i], fmt::format("0 to {}, except the blank {}", e.classes - 1, e.blank));
  }
  if (sample.needed() > sample.steps)
    return Status(errors::ctc_target_too_long(number, sample.labels, sample.needed(), sample.steps));
  return {};
}

/// `next` from `before`, the logarithms for each position of all alignments up to the step in front.
template <class T, class Index>
void advance(const Sample<T, Index>& sample, int64_t step, const double* before, double* next) {
  for (int64_t p = 0; p < sample.positions(); ++p) {
    double sum = before[p];
    if (p >= 1) sum = log_sum(sum, before[p - 1]);
    if (sample.skips(p)) sum = log_sum(sum, before[p - 2]);
    next[p] = sum + sample.at(step, p);
  }
}

template <class T, class Index>
void begin(const Sample<T, Index>& sample, double* first) {
  std::fill_n(first, sample.positions(), kNever);
  for (int64_t p = 0; p < std::min<int64_t>(2, sample.positions()); ++p) first[p] = sample.at(0, p);
}

/// The logarithm of all alignments that end at the last position or at the label in front of it.
template <class T, class Index>
double total(const Sample<T, Index>& sample, const double* last) {
  const int64_t end = sample.positions() - 1;
  return end == 0 ? last[0] : log_sum(last[end], last[end - 1]);
}

/// `rows` holds two rows of positions. Without steps, the only alignment is empty.
template <class T, class Index>
double loss_of(const Sample<T, Index>& sample, const Extents& e, double* rows) {
  if (sample.steps == 0) return 0;
  double *now = rows, *other = rows + e.positions();
  begin(sample, now);
  for (int64_t step = 1; step < sample.steps; ++step, std::swap(now, other)) advance(sample, step, now, other);
  return -total(sample, now);
}

/// Writes the gradient of the loss of a sample times `factor`. `rows` holds Extents::gradient_doubles().
template <class T, class Index>
void write_gradient(const Sample<T, Index>& sample, const Extents& e, double factor, double* rows, T* to) {
  std::fill_n(to, e.steps * e.classes, from_double<T>(0));
  if (sample.steps == 0) return;
  const int64_t width = e.positions(), count = sample.positions();
  begin(sample, rows);
  for (int64_t step = 1; step < sample.steps; ++step)
    advance(sample, step, rows + (step - 1) * width, rows + step * width);
  const double all = total(sample, rows + (sample.steps - 1) * width);
  double *after = rows + e.steps * width, *next = after + width;  // alignments behind a step, for each position
  std::fill_n(after, count, kNever);
  for (int64_t p = std::max<int64_t>(0, count - 2); p < count; ++p) after[p] = 0;
  double* shares = next + width;
  for (int64_t step = sample.steps - 1; step >= 0; --step) {
    std::fill_n(shares, e.classes, 0.0);
    for (int64_t p = 0; p < count; ++p) shares[sample.class_at(p)] += std::exp(rows[step * width + p] + after[p] - all);
    for (int64_t c = 0; c < e.classes; ++c) to[step * e.classes + c] = from_double<T>(-factor * shares[c]);
    for (int64_t p = 0; p < count; ++p) {
      double sum = after[p] + sample.at(step, p);
      if (p + 1 < count) sum = log_sum(sum, after[p + 1] + sample.at(step, p + 1));
      if (p + 2 < count && sample.skips(p + 2)) sum = log_sum(sum, after[p + 2] + sample.at(step, p + 2));
      next[p] = sum;
    }
    std::swap(after, next);
  }
}

Extents extents_of(const Problem& problem, int64_t blank) {
  const Dims& dims = problem.in[In::log_probs]->dims;
  return {dims[0], dims[1], dims[2], problem.in[In::target]->dims[1], blank};
}

/// A separate phase checks the targets, so that the error does not depend on the distribution of samples to threads.
Plan plan_of(const Extents& e, int64_t doubles) {
  return {.state = std::make_shared<Extents>(e),
          .scratch = static_cast<size_t>(e.samples * doubles) * sizeof(double),
          .phases = {1, e.samples}};
}

Plan prepare_loss(const Problem& problem) {
  const Extents e = extents_of(problem, CtcLoss(problem.attributes).blank);
  return plan_of(e, e.loss_doubles());
}

Plan prepare_gradient(const Problem& problem) {
  const Extents e = extents_of(problem, CtcLossGrad(problem.attributes).blank);
  return plan_of(e, e.gradient_doubles());
}

/// Calls run(sample) for the sample `piece`, or in phase 0 checks all samples.
template <class Run>
Status for_sample(const Call& call, int phase, int64_t piece, const Run& run) {
  const auto& e = state_of<Extents>(call);
  return with_any_float(call.out[0].dtype, [&]<class T>() {
    return with_index(call.in[In::target].dtype, [&]<class Index>() {
      if (phase == 1) {
        run(Sample<T, Index>(call, e, piece));
        return Status();
      }
      for (int64_t number = 0; number < e.samples; ++number) {
        if (Status status = check(Sample<T, Index>(call, e, number), e, number); !status.ok()) return status;
      }
      return Status();
    });
  });
}

Status run_loss(const Call& call, int phase, int64_t piece) {
  const auto& e = state_of<Extents>(call);
  return for_sample(call, phase, piece, [&]<class T, class Index>(const Sample<T, Index>& sample) {
    double* rows = reinterpret_cast<double*>(call.scratch) + piece * e.loss_doubles();
    call.out[0].as<T>()[piece] = from_double<T>(loss_of(sample, e, rows));
  });
}

Status run_gradient(const Call& call, int phase, int64_t piece) {
  const auto& e = state_of<Extents>(call);
  return for_sample(call, phase, piece, [&]<class T, class Index>(const Sample<T, Index>& sample) {
    double* rows = reinterpret_cast<double*>(call.scratch) + piece * e.gradient_doubles();
    const double factor = to_double(call.in[In::loss_grad].as<const T>()[piece]);
    write_gradient(sample, e, factor, rows, call.out[0].as<T>() + piece * e.steps * e.classes);
  });
}

}  // namespace

extern const Kernel reference_ctc_loss{"reference", accept_all, prepare_loss, run_loss};
extern const Kernel reference_ctc_loss_grad{"reference", accept_all, prepare_gradient, run_gradient};

}  // namespace halfstep::kernels
