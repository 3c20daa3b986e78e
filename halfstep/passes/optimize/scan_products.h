// Computes products with the scanned values of a scan for all iterations at once.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Applies to a scanned value of codes that the body only multiplies by a stored weight (integer_linear). The product
/// of all rows takes the place of the value, so that the weight is read once and not in each iteration. Extents must be
/// known. Codes do not change.
void scan_products(Model& model);

}  // namespace halfstep::passes
