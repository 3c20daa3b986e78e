// Decomposes products that an equation or a broadcast describes.
#pragma once

#include <set>
#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Rewrites each f32 einsum and matmul_broadcast as matrix products, products of elements and sums over axes, with
/// transposes and reshapes between them. Operands are multiplied from the first to the last. An operator stays if an
/// operand repeats a letter, or if axes that become one have several unknown extents. Operators in `kept` stay too.
void open_products(Model& model, const std::set<std::string>& kept = {});

/// Returns why an einsum or matmul_broadcast stays, or "". Also "" for other operators.
std::string product_obstacle(Op op);

}  // namespace halfstep::passes
