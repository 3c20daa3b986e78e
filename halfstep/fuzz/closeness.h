// Whether two runs of a float network differ by more than rounding.
#pragma once

#include <functional>
#include <string>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::fuzz {

/// Outputs of the same network with exact arithmetic, after small changes of its numbers that `change` selects (0:
/// unchanged).
using Perturbed = std::function<Tensors(uint64_t change)>;

/// "" if every element of `found` equals that of `expected` within rounding, else a description of the largest
/// difference.
///
/// The bound of an element is kRounding steps of its type (2^-23 for f32) times the largest magnitude in its tensor. If
/// it is exceeded, the network may amplify rounding (a difference of close numbers, a comparison, a floor). Then the
/// network runs kChanges times with its numbers changed by up to 16 steps each. The new bound is 8 times the change of
/// the tensor. Infinities and NaN must be at the same elements, and integers must be equal, unless the changes alter
/// them too.
std::string difference(const Tensors& found, const Tensors& expected, const Perturbed& perturbed);

/// Relative precision of the type: the distance from 1 to the next number, 2^-23 for f32. 0 for integers.
double step_of(DType dtype);

}  // namespace halfstep::fuzz
