// Compares tensors and reports differences.
#pragma once

#include <optional>
#include <string>

#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// Describes the first difference between `found` and `expected`, "" if there is none.
///
/// Without a tolerance, and always for integers, every bit of every element must be equal. Only NaNs are all equal,
/// because sign and payload of a NaN depend on the order of operands. With a tolerance, NaN and infinities must be at
/// the same positions. Other elements may differ by `tolerance` times the largest finite magnitude in `expected`.
std::string difference(const Tensor& found, const Tensor& expected, std::optional<double> tolerance = {});

}  // namespace halfstep::verify
