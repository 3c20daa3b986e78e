// The proof inside of branches and loops: each region as a network of its own, on what a run gives to it.
#pragma once

#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// Adds to `report` the layers in regions of `prepared` and the integer program, compared each time that a run enters
/// them, with the engine of `roads` where it shows them (Roads::inside), and with the network that came in where
/// `prepared` has it. Nothing where there are no regions with quantizers.
void verify_regions(verify::RoadReport& report, const Model& prepared, const verify::Roads& roads,
                    const data::Samples& samples, const verify::MeaningOptions& options, ThreadPool& pool,
                    const ProgressCallback& progress);

}  // namespace halfstep::api
