// Splits a data set into training and test samples.
#pragma once

#include "halfstep/data/datasets/dataset.h"

namespace halfstep::data {

/// The parts of the data set itself, or a fixed stratified split. In each class, the first 80 % of an order that
/// depends only on the class are for training. Without labels, all samples are in both parts.
Split parts_of(const Dataset& data);

/// Limits each part to options.samples samples, evenly spread over it. With options.all, first puts every sample into
/// both parts.
void choose(Dataset& data, const DataOptions& options);

}  // namespace halfstep::data
