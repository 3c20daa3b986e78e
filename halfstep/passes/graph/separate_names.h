// Renames operations so that derived names stay free.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Derived values of NAME are called NAME.SUFFIX: its quantizer NAME.q, its dequantized values NAME.real, further
/// results NAME.acc. To keep these names free, '_' replaces the dot in the name of an operation that starts with the
/// name of another operation, argument or tensor and a dot. Arguments and tensors keep their names. If the name of an
/// argument starts with the name of an operation and a dot, the operation is renamed. A name then shows the origin of a
/// value in every derived graph. The Model's record of the file's names is updated.
void separate_names(Model& model);

}  // namespace halfstep::passes
