// Room for the names that are made of others.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// What is made of NAME is called NAME.WHAT: its quantizer NAME.q, its codes as reals NAME.real, further results
/// NAME.acc. So that none of these names is already somebody else's, an operation whose name begins with that of
/// another operation, an argument or a tensor and a dot gets '_' for that dot. Arguments and tensors keep their names:
/// an operation below which an argument lies is renamed itself. Then a name tells what a thing was made of, in every
/// graph that is made of this one. What the Model has of the file's names follows.
void separate_names(Model& model);

}  // namespace halfstep::passes
