// Activations on results of a layer, with the loops of the pointwise kernels.
#pragma once

#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/elementwise/simd.h"

namespace halfstep::kernels::elementwise {

/// Applies the activation in place to `size` elements.
using ActivationRow = void (*)(const Activation& activation, float* values, int64_t size);

/// The function with the bits of the pointwise kernel at this level.
ActivationRow activation_row(Activation::Kind kind, CpuLevel level);

}  // namespace halfstep::kernels::elementwise
