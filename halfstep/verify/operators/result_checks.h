// Checks of the operator runner for results and rules, see OpMode.
#pragma once

#include <array>

#include "halfstep/verify/operators/outcome.h"
#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {

/// Compares every result of `found` with `expected`, by port. "" if all agree. A result that only one of them has is a
/// difference.
std::string compare_results(const OpInfo& info, const std::vector<Tensor>& found, const std::vector<Tensor>& expected,
                            std::optional<double> tolerance);

/// One problem with the values of its operands.
struct FilledProblem {
  const Problem& problem;
  const OpTest& record;
  std::vector<Tensor> operands;
};

/// OpMode::check on the device at `place`, with operands as arguments and as tensors.
Outcome check_results(const FilledProblem& filled, CpuLevel level, Place place, ThreadPool& pool);

/// OpMode::bitwise. The pools have 1, 2 and 4 threads. The device sim runs the reference. Its results are compared with
/// those of `level` if the record has no tolerance, otherwise with the reference. An operator with a tolerance must
/// have the bits of the reference on every CPU level if Order::one is selected, as for float fallbacks.
Outcome check_bitwise(const FilledProblem& filled, CpuLevel level, const std::array<ThreadPool*, 3>& pools);

/// OpMode::reject for one case.
Outcome check_reject(const OpInfo& info, const OpReject& reject);

}  // namespace halfstep::verify
