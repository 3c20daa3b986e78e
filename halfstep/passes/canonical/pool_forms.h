// Windows that ceil_mode or automatic padding place, written as padding.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// max_pool and average_pool of pictures [n, c, h, w] of known height and width become max_pool2d and avg_pool2d, whose
/// padding says where the windows lie. What hangs over the end with ceil_mode becomes padding there, which is exact as
/// long as padding does not count: of an average that counts it only where there is none besides, and then it no longer
/// counts. Pools with dilations, indices, or padding as long as a window stay as they are, and so does every other
/// pool.
void pool_forms(Model& model);

}  // namespace halfstep::passes
