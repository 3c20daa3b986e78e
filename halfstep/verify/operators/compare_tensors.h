// Whether two tensors agree, and where they do not.
#pragma once

#include <optional>
#include <string>

#include "halfstep/core/base/tensor.h"

namespace halfstep::verify {

/// What is wrong with `found`, as a sentence that names the first element that differs; "" where nothing is.
///
/// Without a tolerance, and for whole numbers always: every bit of every element, but any NaN is any other, since sign
/// and payload of a NaN depend on the order of operands. With one: NaN and infinities where `expected` has them and
/// nowhere else, all others within `tolerance` times the largest finite magnitude in `expected`.
std::string difference(const Tensor& found, const Tensor& expected, std::optional<double> tolerance = {});

}  // namespace halfstep::verify
