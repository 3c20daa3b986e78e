// Returns transposed convolutions to their own operator, for the tools of chips.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Whether transposed_again returns the layer after spatial_forms: over two axes of known extents,
/// with a stride and without groups.
bool returns_again(Op layer);

/// Replaces each conv2d over elements that lie apart (spread_image.h) by a conv_transpose over the image. Its weight
/// gets its name and its layout back, and so does the quantizer of the weight. Results have the same sums. Padding and
/// output padding at the end may be smaller by the same number than in the source.
void transposed_again(Model& model);

}  // namespace halfstep::passes
