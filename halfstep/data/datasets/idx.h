// IDX, the format of MNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database", file formats).
#pragma once

#include "halfstep/data/datasets/csv.h"

namespace halfstep::data {

/// An array of any element type of the format; big-endian numbers are turned round. The data must end where its dims
/// say.
Tensor read_idx(io::Source& source);

/// x: u8 [n, height, width] from `images`; labels in [0, classes) from `labels`, as many.
LabelledData read_idx_pair(io::Source& images, io::Source& labels, int64_t classes = kMaxClasses);

}  // namespace halfstep::data
