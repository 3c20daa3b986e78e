// Whether two runs of a float network differ by more than rounding.
#pragma once

#include <functional>
#include <string>

#include "halfstep/base/tensor.h"
#include "halfstep/ir/model.h"

namespace halfstep::fuzz {

/// Outputs of the same network, exact but for small changes of its numbers: `run` is asked for them with every float in
/// `tensors` and `inputs` multiplied by something near 1.
using Perturbed = std::function<Tensors(uint64_t change)>;

/// "" where every element of `found` is that of `expected` within rounding, else what differs most.
///
/// The bound of an element is kRounding times the largest magnitude in its tensor (of its type's steps: 2^-23 of f32).
/// Where it is exceeded, rounding may have grown on its way (a difference of near numbers, a comparison, a floor): then
/// the network is run kChanges times with its numbers changed by up to 16 steps each, and the bound becomes what the
/// tensor changes by then, 8 times. Infinities and NaN must be where they are expected, and whole numbers equal, unless
/// they change then too.
std::string difference(const Tensors& found, const Tensors& expected, const Perturbed& perturbed);

/// A copy whose floats are multiplied by 1 + 16 steps of f32 at most; `change` says by what.
Tensor perturb(const Tensor& tensor, uint64_t change);

}  // namespace halfstep::fuzz
