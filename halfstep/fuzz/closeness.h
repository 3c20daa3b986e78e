// Whether two runs of a float network differ by more than rounding.
#pragma once

#include <functional>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::fuzz {

/// Outputs of the same network, exact but for small changes of its numbers that `change` chooses; 0: none.
using Perturbed = std::function<Tensors(uint64_t change)>;

/// "" where every element of `found` is that of `expected` within rounding, else what differs most.
///
/// The bound of an element is kRounding times the largest magnitude in its tensor (of its type's steps: 2^-23 of f32).
/// Where it is exceeded, rounding may have grown on its way (a difference of near numbers, a comparison, a floor): then
/// the network is run kChanges times with its numbers changed by up to 16 steps each, and the bound becomes what the
/// tensor changes by then, 8 times. Infinities and NaN must be where they are expected, and whole numbers equal, unless
/// they change then too.
std::string difference(const Tensors& found, const Tensors& expected, const Perturbed& perturbed);

/// The distance of 1 to the next number, f32: 2^-23; 0 of whole numbers.
double step_of(DType dtype);

}  // namespace halfstep::fuzz
