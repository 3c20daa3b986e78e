// Activations on what a layer has just written, with the loops of the pointwise kernels.
#pragma once

#include "halfstep/engine/kernels/common/activation.h"
#include "halfstep/engine/kernels/elementwise/simd.h"

namespace halfstep::kernels::elementwise {

/// In place on `size` elements.
using ActivationRow = void (*)(const Activation& activation, float* values, int64_t size);

/// What gives the bits of the pointwise kernel that a level has.
ActivationRow activation_row(Activation::Kind kind, CpuLevel level);

}  // namespace halfstep::kernels::elementwise
