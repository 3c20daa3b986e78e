// What a quantized network is held against: where it came from. Internal to the verbs.
#pragma once

#include <cstdint>
#include <memory>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// `network` with channels of zeros (quant::pad_channels). Throws where its outputs on a batch of the samples are not
/// those of `network`, but for the order of additions.
quant::PadResult with_padded_channels(const Model& network, const quant::Platform& platform,
                                      const quant::PrepareOptions& options, const data::Samples& samples,
                                      ThreadPool& pool);

/// `network` as it came in, with `keep` of the samples, drawn by `seed`: all where there are no more, and whole batches
/// where the network takes one size alone. Throws for a number below 0.
std::shared_ptr<const Source> source_of(const Model& network, const data::Samples& samples, int64_t keep,
                                        uint64_t seed);

/// The source of `prepared` against its float form, on one batch of the samples, kept or else given.
verify::FloatReport check_floats(const Model& prepared, const data::Samples& samples, ThreadPool& pool);
/// The same on these inputs.
verify::FloatReport check_floats(const Model& prepared, const Tensors& inputs, ThreadPool& pool);

/// Throws where a network that was just prepared is not what came in; else what was seen.
verify::FloatReport require_same_floats(const Model& prepared, const data::Samples& samples, ThreadPool& pool);

/// Puts what was found of layers to the layers of `report`.
void add_meanings(verify::RoadReport& report, std::vector<verify::LayerMeaning> layers);

/// Adds to `report` what holds between the layers of `integer` and the source of `prepared`, on the samples that the
/// source keeps and the first 64 of those given, or on all where the options say so; or why nobody can say.
void check_meaning(verify::RoadReport& report, const Model& prepared, const Model& integer,
                   const data::Samples& samples, const verify::MeaningOptions& options, ThreadPool& pool,
                   const ProgressCallback& progress);

}  // namespace halfstep::api
