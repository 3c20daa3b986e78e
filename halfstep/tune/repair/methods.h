// Correction methods, one in each file. Internal to halfstep/tune/repair. methods.cpp has the table.
#pragma once

#include "halfstep/tune/repair/method.h"

namespace halfstep::repair {

Change search_ranges(const State& state, const RepairContext& context);
Change equalize(const State& state, const RepairContext& context);
Change smooth(const State& state, const RepairContext& context);
Change match_statistics(const State& state, const RepairContext& context);
Change correct_biases(const State& state, const RepairContext& context);
Change learn_steps(const State& state, const RepairContext& context);
Change learn_adaround(const State& state, const RepairContext& context);
Change learn_brecq(const State& state, const RepairContext& context);
Change learn_qdrop(const State& state, const RepairContext& context);
Change widen_activations(const State& state, const RepairContext& context);

}  // namespace halfstep::repair
