// Layers that exporters write as several operations become one.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// Where the graph has the form of one of all_patterns(), puts the operation that it is in its place, under the name of
/// its last operation. Only where everything is f32, nothing else reads what lies between, and the result has the same
/// type. Tensors that nothing reads any more stay.
void rewrite_patterns(Model& model);

}  // namespace halfstep::passes
