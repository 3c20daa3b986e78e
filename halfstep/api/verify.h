// The proof: training road, integer program, engine and the network that came in, layer by layer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// Compares `prepared` and `integer` code for code on the test part of `data`, and both with the network that came in.
/// Throws for networks of other stages.
verify::RoadReport verify(const Model& prepared, const Model& integer, const Dataset& data,
                          const VerifyOptions& options = {}, const Settings& settings = {});

/// The three forms that are compared. The network that came in is one of them where `prepared` has it.
verify::Roads roads_of(const Model& prepared, const Model& integer);

/// The roads on samples, layer by layer. `batch` as in VerifyOptions.
verify::RoadReport compare_on(const verify::Roads& roads, const data::Samples& samples, ThreadPool& pool,
                              const ProgressCallback& progress, std::optional<int64_t> batch = {});

/// compare_on, and all of it with the network that came in, inside of branches and loops too. `prepared` is what the
/// roads were made of.
verify::RoadReport prove(const verify::Roads& roads, const Model& prepared, const data::Samples& samples,
                         const verify::MeaningOptions& options, ThreadPool& pool, const ProgressCallback& progress,
                         std::optional<int64_t> batch = {});

}  // namespace halfstep::api
