// The checks of the operator runner that look at results and at rules; see OpMode.
#pragma once

#include <array>

#include "halfstep/verify/operators/outcome.h"
#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {

/// Every produced result of `found` against `expected`, by port; "" where all agree. A result that only one of them has
/// is a difference.
std::string compare_results(const OpInfo& info, const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                            std::optional<double> tolerance);

/// One problem with the values of its operands.
struct FilledProblem {
  const Problem& problem;
  const OpTest& record;
  std::vector<Tensor> operands;
};

/// OpMode::check on the device at `place`, with the operands fed and as tensors.
Outcome check_results(const FilledProblem& filled, CpuLevel level, Place place, ThreadPool& pool);

/// OpMode::bitwise; the pools have 1, 2 and 4 threads. Results of the device sim, which runs the reference, are held
/// against those of `level` where the record has no tolerance, else against the reference. An operator with a tolerance
/// must have the reference's bits on every level where its one order is asked for, as islands do.
Outcome check_bitwise(const FilledProblem& filled, CpuLevel level, const std::array<ThreadPool*, 3>& pools);

/// OpMode::reject for one case.
Outcome check_reject(const OpInfo& info, const OpReject& reject);

}  // namespace halfstep::verify
