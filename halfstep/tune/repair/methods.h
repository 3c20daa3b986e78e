// Correction methods, one in each file. Internal to halfstep/tune/repair. methods.cpp has the table.
#pragma once

#include "halfstep/tune/repair/method.h"

namespace halfstep::repair {

Change search_ranges(const State& state, const Scene& scene);
Change equalize(const State& state, const Scene& scene);
Change smooth(const State& state, const Scene& scene);
Change match_statistics(const State& state, const Scene& scene);
Change correct_biases(const State& state, const Scene& scene);
Change learn_steps(const State& state, const Scene& scene);
Change learn_adaround(const State& state, const Scene& scene);
Change learn_brecq(const State& state, const Scene& scene);
Change learn_qdrop(const State& state, const Scene& scene);
Change widen_activations(const State& state, const Scene& scene);

}  // namespace halfstep::repair
