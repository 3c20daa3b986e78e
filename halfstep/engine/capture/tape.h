// The tape: records how arrays were computed, and computes gradients along it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/engine/capture/array.h"
#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// One application of a recorded computation with differentiable results.
struct Step {
  struct Kept {
    std::vector<Tensor> outputs = {};  ///< empty while a region is traced
    Tensors inside = {};               ///< inner values that gradients read, by name
  };
  std::shared_ptr<const Recorded> what;
  std::vector<ContentPtr> inputs;     ///< indexed by argument
  std::optional<Kept> kept = Kept();  ///< nullopt: recomputed when gradients need it
  uint64_t order = next_event();
  std::vector<std::weak_ptr<const Content>> results = {};  ///< indexed by output
};

/// Names of inner values of `what` (neither arguments nor outputs) that gradients read. The gradients of its float
/// outputs are known, and those of the differentiable arguments are wanted.
std::vector<std::string> values_to_save(const Recorded& what, const std::vector<bool>& differentiable);

/// Gradients of the sum of `of`, each times its seed, with respect to `wanted`. A missing gradient is an empty array.
/// All readers of a value contribute in the order in which they ran. A gradient therefore has the same bits, however
/// much of the computation was captured. Throws an Error that names every operator on the path without a gradient. In a
/// captured function, also throws if the path leaves the function.
Arrays gradients(std::span<const Array> of, std::span<const Array> seeds, std::span<const ContentPtr> wanted);

/// Adds the gradients of `of` to the gradients of the parameters that it was computed from. `seed` is the gradient with
/// respect to `of`. Without it, `of` must have one element and the seed is 1. Throws Error like gradients.
void backward(const Array& of, const Array& seed = {});

}  // namespace halfstep::capture
