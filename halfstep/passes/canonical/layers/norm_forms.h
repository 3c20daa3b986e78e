// Normalizations in operators that have codes.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites instance_norm and group_norm into a layer_norm of the rows that a sample has for each group. Factors and
/// offsets of channels follow as a product and a sum. Normalizations over unknown extents stay unchanged.
void norm_forms(Model& model);

/// Whether the factor of a normalization consists of powers of two that training does not change.
bool has_powers_of_two(const Model& model, Value factor);

/// Separates the factors and offsets of layer_norm and rms_norm, for targets whose requantization is a shift. Factors
/// for which has_powers_of_two holds stay if there is no offset.
void separate_norm_factors(Model& model);

}  // namespace halfstep::passes
