// Attributes of operators on codes that hold one factor for all elements.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/arith/requantizer.h"
#include "halfstep/core/base/attribute.h"

namespace halfstep::quant {

void set_scales(Attributes& attributes, const std::map<std::string, float>& scales);

/// Sets multiplier and shift. Forms that keep scales store no factor.
void set_factor(Attributes& attributes, const arith::Requantizer& requantizer);

/// Sets the numbers from which a multiplier follows when extents are known (docs/arithmetic.md, A5.31). `x` and `y` are
/// the scales of operand and result.
void set_divided_later(Attributes& attributes, const arith::RequantizeRule& rule, float x, float y);

}  // namespace halfstep::quant
