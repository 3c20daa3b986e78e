// Verification inside branches and loops: each region is checked as a separate network, on the inputs recorded in a
// run.
#pragma once

#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// Adds the layers in regions of `prepared` and of the integer program to `report`. They are compared for each
/// execution of a region, also with the backend of `roads` if it records them (Roads::inside), and with the source
/// model if `prepared` has it. Adds nothing if no region has quantizers.
void verify_regions(verify::RoadReport& report, const Model& prepared, const verify::Roads& roads,
                    const data::Samples& samples, const verify::MeaningOptions& options, ThreadPool& pool,
                    const ProgressCallback& progress);

}  // namespace halfstep::api
