// Numbers in steps.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// From `start` on in steps of `delta`, before `limit`, each start + i * delta; all three of one type.
Tensor range(const Node& node, const Tensor& start, const Tensor& limit, const Tensor& delta);

}  // namespace halfstep::formats
