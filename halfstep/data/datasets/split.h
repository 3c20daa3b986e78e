// Which samples train and which test.
#pragma once

#include "halfstep/data/datasets/dataset.h"

namespace halfstep::data {

/// The data set's own parts, or fixed stratified ones: in each class the first 80 % of an order that depends on the
/// class alone train. Without labels all samples are in both.
Split parts_of(const Dataset& data);

/// Leaves so many samples in each part at most, evenly spread over it; with `all` every sample is in both parts first.
void choose(Dataset& data, bool all, int64_t samples);

}  // namespace halfstep::data
