// Verification inside branches and loops: each region is checked as a separate network, on the inputs recorded in a
// run.
#pragma once

#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::api {

/// Adds the layers in regions of `prepared` and of the integer program to `report`. They are compared for each
/// execution of a region, also with the backend of `paths` if it records them (ExecutionPaths::inside), and with the
/// source model if `prepared` has it. Adds nothing if no region has quantizers.
void verify_regions(verify::VerifyReport& report, const Model& prepared, const verify::ExecutionPaths& paths,
                    const data::Samples& samples, const verify::SemanticOptions& options, ThreadPool& pool,
                    const ProgressCallback& progress);

}  // namespace halfstep::api
