// Converts windows placed by ceil_mode or automatic padding to explicit padding.
#pragma once

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// max_pool and average_pool of pictures [n, c, h, w] of known height and width become max_pool2d and avg_pool2d, whose
/// padding places the windows. With ceil_mode the overhang at the end becomes padding. This is exact only if padding is
/// not counted. An average that counts padding is converted only if it has no other padding, and then no longer counts
/// it. All other pools stay unchanged, including those with dilations, indices, or padding as long as a window.
void pool_forms(Model& model);

/// global_avg_pool over dynamic extents becomes reduce_mean. Windows on codes have known extents.
void open_averages(Model& model);

}  // namespace halfstep::passes
