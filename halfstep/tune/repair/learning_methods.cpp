// Methods that learn block by block, as settings of one engine.
#include "halfstep/tune/repair/block_learning.h"
#include "halfstep/tune/repair/methods.h"

namespace halfstep::repair {

/// Learned step sizes (LSQ; Esser et al., ICLR 2020), applied to blocks.
Change learn_steps(const State& state, const RepairContext& context) {
  return learn(state, context,
               {.name = "blocks",
                .grain = Grain::blocks,
                .rounds_weights = false,
                .rounds_activations = true,
                .learns_steps = true});
}

/// AdaRound (Nagel et al., ICML 2020).
Change learn_adaround(const State& state, const RepairContext& context) {
  return learn(state, context,
               {.name = "adaround",
                .grain = Grain::layers,
                .rounds_weights = true,
                .rounds_activations = false,
                .learns_steps = false});
}

/// BRECQ (Li et al., ICLR 2021).
Change learn_brecq(const State& state, const RepairContext& context) {
  return learn(state, context,
               {.name = "brecq",
                .grain = Grain::blocks,
                .rounds_weights = true,
                .rounds_activations = true,
                .learns_steps = true,
                .weighs = true});
}

/// QDrop (Wei et al., ICLR 2022).
Change learn_qdrop(const State& state, const RepairContext& context) {
  return learn(state, context,
               {.name = "qdrop",
                .grain = Grain::blocks,
                .rounds_weights = true,
                .rounds_activations = true,
                .learns_steps = true,
                .keep = 0.5});
}

}  // namespace halfstep::repair
