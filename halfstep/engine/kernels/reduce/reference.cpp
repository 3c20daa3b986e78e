// Reductions, each in the order of memory. Sums of floats are in double, rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"
#include "halfstep/engine/kernels/reduce/axes.h"
#include "halfstep/engine/kernels/reduce/extreme.h"
#include "halfstep/engine/kernels/reduce/groups.h"

namespace halfstep::kernels {
namespace {

template <class T>
T rounded(double value) {
  if constexpr (kIsFloat<T>) {
    return from_double<T>(value);
  } else {
    return saturated<T>(value);
  }
}
/// A sum as a double. Sums of signed integers keep their sign.
template <class T>
double real(Total<T> total) {
  if constexpr (!kIsFloat<T> && std::is_signed_v<T>) return static_cast<double>(static_cast<int64_t>(total));
  return static_cast<double>(total);
}

// A fold has the state of a result, `add` for an element, and `finish` for the end.

template <class T>
struct SumFold {
  Total<T> total = 0;
  void add(T value) { total += total_of(value); }
  T finish(int64_t) const { return of_total<T>(total); }
};

template <class T>
struct MeanFold : SumFold<T> {
  T finish(int64_t count) const {
    if constexpr (kIsFloat<T>) {
      return from_double<T>(this->total / static_cast<double>(count));
    } else if constexpr (std::is_signed_v<T>) {
      return count == 0 ? T(0) : static_cast<T>(static_cast<int64_t>(this->total) / count);
    } else {
      return count == 0 ? T(0) : static_cast<T>(this->total / static_cast<uint64_t>(count));
    }
  }
};

template <class T>
struct ProductFold {
  Total<T> total = 1;
  void add(T value) { total *= total_of(value); }
  T finish(int64_t) const { return of_total<T>(total); }
};

template <class T>
struct L1Fold : SumFold<T> {
  void add(T value) {
    if constexpr (kIsFloat<T>) {
      this->total += std::fabs(to_double(value));
    } else {
      const auto bits = static_cast<uint64_t>(value);
      this->total += value < T(0) ? 0 - bits : bits;
    }
  }
};

template <class T>
struct SumSquareFold : SumFold<T> {
  void add(T value) { this->total += total_of(value) * total_of(value); }
};

template <class T>
struct L2Fold {
  double total = 0;
  void add(T value) { total += to_double(value) * to_double(value); }
  T finish(int64_t) const { return rounded<T>(std::sqrt(total)); }
};

template <class T>
struct LogSumFold : SumFold<T> {
  T finish(int64_t) const { return rounded<T>(std::log(real<T>(this->total))); }
};

/// Keeps the sum relative to the exponential of the largest element so far.
template <class T>
struct LogSumExpFold {
  double largest = -std::numeric_limits<double>::infinity(), total = 0;
  void add(T element) {
    const double value = to_double(element);
    if (value > largest) {
      total = total * std::exp(largest - value) + 1;
      largest = value;
    } else if (value == largest || value != value) {
      total += value == value ? 1 : value;
    } else {
      total += std::exp(value - largest);
    }
  }
  T finish(int64_t) const {
    return rounded<T>(std::isinf(largest) && total == total ? largest : largest + std::log(total));
  }
};

template <class T>
using MaxFold = ExtremeFold<T, true>;
template <class T>
using MinFold = ExtremeFold<T, false>;

/// Size of the largest fold.
constexpr size_t kFoldBytes = 16;

Plan plan_of(Groups groups) {
  auto state = std::make_shared<Groups>(std::move(groups));
  const int64_t pieces = state->pieces();
  const auto scratch = static_cast<size_t>(state->results()) * kFoldBytes;
  return {.state = std::move(state), .scratch = scratch, .phases = {pieces}};
}

template <class Typed>
Plan prepare_reduce(const Problem& problem) {
  const Typed a(problem.attributes);
  const Dims& x = problem.in[Typed::in::x]->dims;
  return plan_of(Groups(x, kept_extents(x, a)));
}

Plan prepare_sum_to(const Problem& problem) {
  return plan_of(Groups(problem.in[SumTo::in::x]->dims, problem.out[0]->dims));
}

template <template <class> class Fold, class T>
void fold_piece(const Call& call, int64_t piece) {
  static_assert(sizeof(Fold<T>) <= kFoldBytes);
  const auto& groups = state_of<Groups>(call);
  auto* folds = reinterpret_cast<Fold<T>*>(call.scratch);
  const int64_t begin = piece * groups.piece_results(), end = begin + groups.piece_results();
  std::fill(folds + begin, folds + end, Fold<T>());
  const T* src = call.in[0].as<const T>();
  groups.for_each_run(piece, [&](int64_t first, int64_t result, int64_t count, bool together) {
    const T* at = src + first;
    if (together) {
      Fold<T> fold = folds[result];
      for (int64_t i = 0; i < count; ++i) fold.add(at[i]);
      folds[result] = fold;
    } else {
      for (int64_t i = 0; i < count; ++i) folds[result + i].add(at[i]);
    }
  });
  T* dst = call.out[0].as<T>();
  for (int64_t i = begin; i < end; ++i) dst[i] = folds[i].finish(groups.count());
}

template <template <class> class Fold>
Status run_fold(const Call& call, int, int64_t piece) {
  with_number(call.out[0].dtype, [&]<class T>() { fold_piece<Fold, T>(call, piece); });
  return {};
}

/// Takes bool too.
template <template <class> class Fold>
Status run_extreme(const Call& call, int, int64_t piece) {
  with_plain(call.out[0].dtype, [&]<class T>() { fold_piece<Fold, T>(call, piece); });
  return {};
}

}  // namespace

extern const Kernel reference_reduce_sum{"reference", accept_all, prepare_reduce<ReduceSum>, run_fold<SumFold>};
extern const Kernel reference_reduce_mean{"reference", accept_all, prepare_reduce<ReduceMean>, run_fold<MeanFold>};
extern const Kernel reference_reduce_max{"reference", accept_all, prepare_reduce<ReduceMax>, run_extreme<MaxFold>};
extern const Kernel reference_reduce_min{"reference", accept_all, prepare_reduce<ReduceMin>, run_extreme<MinFold>};
extern const Kernel reference_reduce_prod{"reference", accept_all, prepare_reduce<ReduceProd>, run_fold<ProductFold>};
extern const Kernel reference_reduce_l1{"reference", accept_all, prepare_reduce<ReduceL1>, run_fold<L1Fold>};
extern const Kernel reference_reduce_l2{"reference", accept_all, prepare_reduce<ReduceL2>, run_fold<L2Fold>};
extern const Kernel reference_reduce_sum_square{"reference", accept_all, prepare_reduce<ReduceSumSquare>,
                                                run_fold<SumSquareFold>};
extern const Kernel reference_reduce_log_sum{"reference", accept_all, prepare_reduce<ReduceLogSum>,
                                             run_fold<LogSumFold>};
extern const Kernel reference_reduce_log_sum_exp{"reference", accept_all, prepare_reduce<ReduceLogSumExp>,
                                                 run_fold<LogSumExpFold>};
extern const Kernel reference_sum_to{"reference", accept_all, prepare_sum_to, run_fold<SumFold>};

}  // namespace halfstep::kernels
