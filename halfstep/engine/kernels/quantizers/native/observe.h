// What the reference and the fast observer share: what elements add up to, and the step from there to the new state.
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
  std::vector<Blocks> operands;  ///< of the variadic x

  explicit Observer(const Problem& problem);
  bool sees_parts() const { return rule.merge == arith::Merge::parts; }
  int64_t terms() const { return rule.terms(); }
};

/// Squared error of x under the parameters: codes by division, half to even.
double squared_error(float x, const arith::AffineParameters& parameters, const arith::CodeGrid& grid);

/// The terms() numbers of the block's elements. `range` is range_of_terms.
void add_terms(const Observer& observer, Range range, const Blocks& blocks, int64_t block, const float* x,
               arith::TermParts* terms);

/// Whether the operands have the channels of the state, and the statistics are those of the method.
Verdict accept_observer(const Problem& problem);

/// The state's range of a channel, before this batch.
Range range_before(const Call& call, int64_t channel);

/// Moves the state of one channel by its batch and what its elements add up to (arith::take_step), or adds that up in
/// `seen`. A batch with nothing seen changes nothing. The outputs may be the inputs' memory.
void update_channel(const Call& call, const Observer& observer, int64_t channel, Range batch,
                    const std::vector<arith::ExactSum>& sums);

}  // namespace halfstep::kernels
