// Parts that the reference and the fast observer share: sums over elements, and the step from them to the new state.
#pragma once

#include <vector>

#include "halfstep/core/arith/observer_step.h"
#include "halfstep/engine/kernels/common/blocks.h"
#include "halfstep/engine/kernels/kernel.h"

namespace halfstep::kernels {

using arith::Range;

/// The attributes and operands of an observe_range.
struct Observer {
  bool is_test = false;
  arith::StepRule rule;
  int64_t channels = 1;
  std::vector<Blocks> operands;  ///< blocks of each operand of the variadic x

  explicit Observer(const Problem& problem);
  bool sees_parts() const { return rule.merge == arith::Merge::parts; }
  int64_t terms() const { return rule.terms(); }
};

/// Squared quantization error of x. Codes are found by division, half to even.
double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid);

/// Adds the block's elements to terms() sums. `range` is range_of_terms.
void add_terms(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
               arith::TermParts* terms);

/// Checks that the operands have the channels of the state and that the statistics are those of the method.
Verdict accept_observer(const Problem& problem);

/// The state's range of a channel, before this batch.
Range range_before(const Call& call, int64_t channel);

/// Updates the state of one channel with its batch and the sums over its elements (arith::take_step), or adds the sums
/// to `seen`. A batch without observed elements changes nothing. Outputs and inputs may share memory.
void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch,
                    const std::vector<arith::ExactSum>& sums);

}  // namespace halfstep::kernels
