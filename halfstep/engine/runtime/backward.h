// Runs the iterations of a loop or a scan from the last to the first. Memory grows with the square root of their
// number.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::runtime {

/// Runs region number `region` of the instruction for one iteration and returns its outputs.
using RunRegion = std::function<std::vector<Tensor>(size_t region, int64_t iteration, const std::vector<Tensor>& in)>;

struct Iterated {
  std::vector<Tensor> last;               ///< carried values after the last backward iteration
  std::vector<std::vector<Tensor>> rows;  ///< rows of each stacked result, in the order of the iterations
};

/// `operands` are those of the instruction (FlowSpec::Kind::backward). An absent condition is among them. `results` is
/// the number of results. A forward run counts the iterations first and keeps the states of every k-th iteration. k
/// doubles when max(32, 2k) states are kept. Starting at the last kept states, the states up to the following kept ones
/// are recomputed. They are freed when their iteration is done. At most 2.2 sqrt(n) states exist at once for n
/// iterations, or 40 if that is more.
Iterated run_backward(const FlowSpec& spec, const std::vector<Tensor>& operands, size_t results, const RunRegion& run);

}  // namespace halfstep::runtime
