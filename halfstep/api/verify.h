// Verification: training path, integer program, other backends and source model, layer by layer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// Compares `prepared` and `integer` code for code on the test split of `data`. Checks both against the source model.
/// Throws for networks of other stages.
verify::RoadReport verify(const Model& prepared, const Model& integer, const Dataset& data,
                          const VerifyOptions& options = {}, const Settings& settings = {});

/// Returns the execution paths to compare. They include the source model if `prepared` has it.
verify::Roads roads_of(const Model& prepared, const Model& integer);

/// Compares the execution paths on samples, layer by layer. `batch` as in VerifyOptions.
verify::RoadReport compare_on(const verify::Roads& roads, const data::Samples& samples, ThreadPool& pool,
                              const ProgressCallback& progress, std::optional<int64_t> batch = {});

/// As compare_on, with the semantic check against the source model, and inside branches and loops. `prepared` is the
/// network from which the roads were made.
verify::RoadReport prove(const verify::Roads& roads, const Model& prepared, const data::Samples& samples,
                         const verify::MeaningOptions& options, ThreadPool& pool, const ProgressCallback& progress,
                         std::optional<int64_t> batch = {});

}  // namespace halfstep::api
