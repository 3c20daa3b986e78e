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
/// Differences are in the report. Throws bad_input for networks of other stages, the program of another network,
/// samples that do not match or fill no batch, and options out of range. Throws unsupported if a requested backend
/// cannot run.
verify::VerifyReport verify(const Model& prepared, const Model& integer, const Dataset& data,
                            const VerifyOptions& options = {}, const Settings& settings = {});

/// Returns the execution paths to compare, without external backends. `unquantized` is the source model or, if
/// `prepared` has none, its float form. `prepared` and `integer` must have these stages.
verify::ExecutionPaths paths_of(const Model& prepared, const Model& integer);

/// Compares the execution paths on samples, layer by layer. `batch` is the number of samples at once, by default as
/// many as fit into memory, at most 64. Throws bad_input if the samples fill no batch.
verify::VerifyReport compare_on(const verify::ExecutionPaths& paths, const data::Samples& samples, ThreadPool& pool,
                                const ProgressCallback& progress, std::optional<int64_t> batch = {});

/// Compares the execution paths like compare_on, also inside branches and loops, and checks them against the source
/// model. `prepared` is the network from which the paths were made. Throws the errors of compare_on.
verify::VerifyReport prove(const verify::ExecutionPaths& paths, const Model& prepared, const data::Samples& samples,
                           const verify::SemanticOptions& options, ThreadPool& pool, const ProgressCallback& progress,
                           std::optional<int64_t> batch = {});

}  // namespace halfstep::api
