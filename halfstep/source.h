// What a quantized network is held against: where it came from. Internal to the face.
#pragma once

#include <cstdint>
#include <memory>

#include "halfstep/ir/model.h"
#include "halfstep/train/samples.h"

namespace halfstep {

/// `network` as it came in, with `keep` of the samples, drawn by `seed`: all where there are no more, and whole batches
/// where the network takes one size alone. Throws for a number below 0.
std::shared_ptr<const Source> source_of(const Model& network, const train::Samples& samples, int64_t keep,
                                        uint64_t seed);

}  // namespace halfstep
