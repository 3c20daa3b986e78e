// IDX, the format of MNIST (Y. LeCun, C. Cortes, C. Burges, "The MNIST database", file formats).
#pragma once

#include "halfstep/data/datasets/csv.h"

namespace halfstep::data {

/// Reads an array of any element type of the format, converted from big-endian. Throws unless the data has exactly the
/// size in its header.
Tensor read_idx(io::Source& source);

/// x: u8 [n, height, width] from `images`. Labels in [0, classes) from `labels`, one per image.
LabelledData read_idx_pair(io::Source& images, io::Source& labels, int64_t classes = kMaxClasses);

}  // namespace halfstep::data
