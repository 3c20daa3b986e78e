// The iterations of a loop or a scan from the last to the first, in memory that grows with the root of their number.
#pragma once

#include <functional>
#include <vector>

#include "halfstep/engine/runtime/instruction.h"

namespace halfstep::runtime {

/// Runs a region of the instruction, by its number, for an iteration; what it gives.
using RunRegion = std::function<std::vector<Tensor>(size_t region, int64_t iteration, const std::vector<Tensor>& in)>;

struct Iterated {
  std::vector<Tensor> last;               ///< what iterations hand on, as the last of them left it
  std::vector<std::vector<Tensor>> rows;  ///< of each stacked result, in the order of the iterations
};

/// `operands` are those of the instruction (FlowSpec::Kind::backward), an absent condition among them; `results` is
/// their number. Iterations run forward first, which says how many there are. States are kept at every k-th of them; k
/// is doubled when 2k are kept, and at least 32. From the last kept ones on, those between are made again, and go when
/// their iteration is done: of n iterations at most 2.2 sqrt(n), or 40 where that is more, are there at once.
Iterated run_backward(const FlowSpec& spec, const std::vector<Tensor>& operands, size_t results, const RunRegion& run);

}  // namespace halfstep::runtime
