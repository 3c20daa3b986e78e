// Computes transposed convolutions on codes without products with zeros.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Applies to an integer_conv2d over images with zeros behind each element, the form of transposed convolutions
/// (canonical/layers/spatial_forms.h). A window has all its elements of the image at the same taps as the windows that
/// lie a multiple of the stride away. So each phase, the outputs at one remainder, is a convolution over the image with
/// these taps. One convolution computes the phases as output channels, and moves put these side by side. Sums lose only
/// terms that are zero, so codes do not change. Reads weights, which must not change afterwards.
void phase_convolutions(Model& model);

}  // namespace halfstep::passes
