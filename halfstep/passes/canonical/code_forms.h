// Rewrites operators into equivalents that have integer implementations. Used on networks to be prepared, because in
// float both forms serve equally well.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// The network does not compute with a number at most this: it only hides elements from a softmax.
inline constexpr float kHidden = -1e30F;

/// Masks of any form become mask_fill. Such a form is a select of x and a number. Another form is x plus a select of 0
/// and a number that hides (within_reach.h), or plus a tensor of these two numbers, perhaps moved in between. The guard
/// of a softmax against rows that are hidden as a whole becomes another mask_fill, or is removed if no row can be. A
/// division by a number becomes a product with its reciprocal, which differs by float32 rounding. A clip between
/// numbers becomes a hard_tanh, whose limits are attributes. The largest or smallest of several computed values becomes
/// a reduction over their concatenation. A sum over axes becomes their mean times a number, and a softplus with a
/// threshold of at least 20 a plain one. A select of two values becomes the sum of two masks, and a condition that is
/// cast to numbers a mask of 0 and 1.
void code_forms(Model& model);

/// Rewrites only the masks.
void mask_forms(Model& model);

}  // namespace halfstep::passes
