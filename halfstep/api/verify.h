// Verification: training path, integer program, other backends and source model, layer by layer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::api {

/// Compares `prepared` and `integer` code for code on the test split of `data`. Checks both against the source model.
/// Throws for networks of other stages.
verify::VerifyReport verify(const Model& prepared, const Model& integer, const Dataset& data,
                            const VerifyOptions& options = {}, const Settings& settings = {});

/// Returns the execution paths to compare. They include the source model if `prepared` has it.
verify::ExecutionPaths paths_of(const Model& prepared, const Model& integer);

/// Compares the execution paths on samples, layer by layer. `batch` as in VerifyOptions.
verify::VerifyReport compare_on(const verify::ExecutionPaths& paths, const data::Samples& samples, ThreadPool& pool,
                                const ProgressCallback& progress, std::optional<int64_t> batch = {});

/// As compare_on, with the semantic check against the source model, and inside branches and loops. `prepared` is the
/// network from which the paths were made.
verify::VerifyReport prove(const verify::ExecutionPaths& paths, const Model& prepared, const data::Samples& samples,
                           const verify::SemanticOptions& options, ThreadPool& pool, const ProgressCallback& progress,
                           std::optional<int64_t> batch = {});

}  // namespace halfstep::api
