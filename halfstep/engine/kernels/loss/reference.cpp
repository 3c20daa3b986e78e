// Softmax losses. Each row is computed in double relative to its largest element, so that no exponential overflows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/core/base/divide.h"
#include "halfstep/engine/kernels/kernel.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

constexpr int64_t kRowsPerPiece = 64;

struct Rows {
  int64_t count, classes;
  int64_t begin(int64_t piece) const { return piece * kRowsPerPiece; }
  int64_t end(int64_t piece) const { return std::min(count, (piece + 1) * kRowsPerPiece); }
  int64_t pieces() const { return ceil_div(count, kRowsPerPiece); }
};

Rows rows_of(const Type& type) {
  const int64_t classes = type.dims.back();
  return {classes == 0 ? 0 : count_elements(type.dims) / classes, classes};
}

/// Largest element of a row and the sum of exp(x - largest).
struct Partition {
  double largest, sum;
};

template <class T>
Partition partition_of(const T* row, int64_t classes) {
  Partition p{double{row[0]}, 0.0};
  for (int64_t i = 1; i < classes; ++i) p.largest = std::max(p.largest, double{row[i]});
  for (int64_t i = 0; i < classes; ++i) p.sum += std::exp(double{row[i]} - p.largest);
  return p;
}

float mean(const double* losses, int64_t count) {
  double sum = 0.0;
  for (int64_t row = 0; row < count; ++row) sum += losses[row];
  return static_cast<float>(sum / static_cast<double>(count));
}

/// Returns an error for the first label that is not a class.
Status check_labels(const Rows& rows, const int32_t* labels) {
  for (int64_t row = 0; row < rows.count; ++row) {
    if (labels[row] < 0 || labels[row] >= rows.classes)
      return Status(errors::operand_index_out_of_range(fmt::format("label of sample {}", row), labels[row],
                                                       fmt::format("0 to {}", rows.classes - 1)));
  }
  return {};
}

/// A separate phase checks labels, so that the error does not depend on the distribution of rows to threads.
Plan prepare_loss(const Problem& problem) {
  const Rows rows = rows_of(*problem.in[SoftmaxCrossEntropy::in::logits]);
  return {.state = std::make_shared<Rows>(rows),
          .scratch = static_cast<size_t>(rows.count) * sizeof(double),
          .phases = {1, rows.pieces(), 1}};
}

Status run_loss(const Call& call, int phase, int64_t piece) {
  using In = SoftmaxCrossEntropy::in;
  const auto& rows = state_of<Rows>(call);
  const auto* labels = call.in[In::labels].as<const int32_t>();
  auto* losses = reinterpret_cast<double*>(call.scratch);
  if (phase == 0) return check_labels(rows, labels);
  if (phase == 1) {
    for (int64_t row = rows.begin(piece); row < rows.end(piece); ++row) {
      const float* logits = call.in[In::logits].as<const float>() + row * rows.classes;
      const Partition p = partition_of(logits, rows.classes);
      losses[row] = std::log(p.sum) - (double{logits[labels[row]]} - p.largest);
    }
    return {};
  }
  call.out[SoftmaxCrossEntropy::out::loss].as<float>()[0] = mean(losses, rows.count);
  return {};
}

Plan prepare_loss_grad(const Problem& problem) {
  const Rows rows = rows_of(*problem.in[SoftmaxCrossEntropyGrad::in::logits]);
  return {.state = std::make_shared<Rows>(rows), .phases = {1, rows.pieces()}};
}

Status run_loss_grad(const Call& call, int phase, int64_t piece) {
  using In = SoftmaxCrossEntropyGrad::in;
  const auto& rows = state_of<Rows>(call);
  const auto* labels = call.in[In::labels].as<const int32_t>();
  if (phase == 0) return check_labels(rows, labels);
  const double factor = double{call.in[In::loss_grad].as<const float>()[0]} / static_cast<double>(rows.count);
  for (int64_t row = rows.begin(piece); row < rows.end(piece); ++row) {
    const float* logits = call.in[In::logits].as<const float>() + row * rows.classes;
    float* dst = call.out[0].as<float>() + row * rows.classes;
    const Partition p = partition_of(logits, rows.classes);
    for (int64_t i = 0; i < rows.classes; ++i) {
      const double probability = std::exp(double{logits[i]} - p.largest) / p.sum;
      dst[i] = static_cast<float>((probability - (i == labels[row] ? 1.0 : 0.0)) * factor);
    }
  }
  return {};
}

Plan prepare_soft_loss(const Problem& problem) {
  const Rows rows = rows_of(*problem.in[SoftCrossEntropy::in::logits]);
  return {.state = std::make_shared<Rows>(rows),
          .scratch = static_cast<size_t>(rows.count) * sizeof(double),
          .phases = {rows.pieces(), 1}};
}

Status run_soft_loss(const Call& call, int phase, int64_t piece) {
  using In = SoftCrossEntropy::in;
  const auto& rows = state_of<Rows>(call);
  auto* losses = reinterpret_cast<double*>(call.scratch);
  if (phase == 1) {
    call.out[SoftCrossEntropy::out::loss].as<float>()[0] = mean(losses, rows.count);
    return {};
  }
  for (int64_t row = rows.begin(piece); row < rows.end(piece); ++row) {
    const float* logits = call.in[In::logits].as<const float>() + row * rows.classes;
    const float* targets = call.in[In::targets].as<const float>() + row * rows.classes;
    const Partition p = partition_of(logits, rows.classes);
    const double log_sum = std::log(p.sum) + p.largest;
    losses[row] = 0.0;
    for (int64_t i = 0; i < rows.classes; ++i) losses[row] += double{targets[i]} * (log_sum - double{logits[i]});
  }
  return {};
}

/// The divergence: the cross entropy minus that of the targets with themselves.
Status run_divergence(const Call& call, int phase, int64_t piece) {
  Status status = run_soft_loss(call, phase, piece);
  if (phase == 1) return status;
  const auto& rows = state_of<Rows>(call);
  auto* losses = reinterpret_cast<double*>(call.scratch);
  for (int64_t row = rows.begin(piece); row < rows.end(piece); ++row) {
    const float* targets = call.in[KlDivergence::in::targets].as<const float>() + row * rows.classes;
    for (int64_t i = 0; i < rows.classes; ++i) {
      if (targets[i] > 0) losses[row] += double{targets[i]} * std::log(double{targets[i]});
    }
  }
  return status;
}

Plan prepare_soft_grad(const Problem& problem) {
  const Rows rows = rows_of(*problem.in[SoftCrossEntropyGrad::in::logits]);
  return {.state = std::make_shared<Rows>(rows), .phases = {rows.pieces()}};
}

Status run_soft_grad(const Call& call, int /*phase*/, int64_t piece) {
  using In = SoftCrossEntropyGrad::in;
  const auto& rows = state_of<Rows>(call);
  const double factor = double{call.in[In::loss_grad].as<const float>()[0]} / static_cast<double>(rows.count);
  for (int64_t row = rows.begin(piece); row < rows.end(piece); ++row) {
    const float* logits = call.in[In::logits].as<const float>() + row * rows.classes;
    const float* targets = call.in[In::targets].as<const float>() + row * rows.classes;
    float* dst = call.out[0].as<float>() + row * rows.classes;
    const Partition p = partition_of(logits, rows.classes);
    double share = 0.0;
    for (int64_t i = 0; i < rows.classes; ++i) share += double{targets[i]};
    for (int64_t i = 0; i < rows.classes; ++i) {
      const double probability = std::exp(double{logits[i]} - p.largest) / p.sum;
      dst[i] = static_cast<float>((probability * share - double{targets[i]}) * factor);
    }
  }
  return {};
}

}  // namespace

extern const Kernel reference_kl_divergence{"reference", accept_all, prepare_soft_loss, run_divergence};
extern const Kernel reference_soft_cross_entropy{"reference", accept_all, prepare_soft_loss, run_soft_loss};
extern const Kernel reference_soft_cross_entropy_grad{"reference", accept_all, prepare_soft_grad, run_soft_grad};
extern const Kernel reference_softmax_cross_entropy{"reference", accept_all, prepare_loss, run_loss};
extern const Kernel reference_softmax_cross_entropy_grad{"reference", accept_all, prepare_loss_grad, run_loss_grad};

}  // namespace halfstep::kernels
