// The tape: what arrays were computed by, and gradients along it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "halfstep/engine/capture/array.h"
#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// One application of something recorded whose results can be differentiated.
struct Step {
  struct Kept {
    std::vector<Tensor> outputs = {};  ///< none in a region that is being traced
    Tensors inside = {};               ///< values by name: those that gradients read
  };
  std::shared_ptr<const Recorded> what;
  std::vector<ContentPtr> inputs;     ///< by argument
  std::optional<Kept> kept = Kept();  ///< nothing: it is computed again where gradients ask for it
  uint64_t order = next_event();
  std::vector<std::weak_ptr<const Content>> results = {};  ///< by output
};

/// Names of the values of `what`, neither arguments nor outputs, that gradients read when those of its outputs of
/// floats are known and those of the differentiable arguments are wanted.
std::vector<std::string> values_to_save(const Recorded& what, const std::vector<bool>& differentiable);

/// Gradients of the sum of `of`, each times its seed, with respect to `wanted`; no array where there is none. All
/// readers of a value come in the order in which they ran, so that a gradient has the same bits however much of the
/// computation was captured. Throws Error, naming every operator on the way that has no gradient; and in a captured
/// function where the way leaves it.
Arrays gradients(std::span<const Array> of, std::span<const Array> seeds, std::span<const ContentPtr> wanted);

/// Adds gradients of `of` to what the parameters that it was computed from keep. `seed`: the gradient with respect to
/// `of`; where there is none `of` has one element, and it is 1. Throws Error as gradients does.
void backward(const Array& of, const Array& seed = {});

}  // namespace halfstep::capture
