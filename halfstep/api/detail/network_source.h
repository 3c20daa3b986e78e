// Source models of quantized networks, used as reference. Internal to the verbs.
#pragma once

#include <cstdint>
#include <memory>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::api {

/// Pads channels of `network` with zeros (quant::pad_channels). Throws if the outputs on a batch of samples differ from
/// those of `network` by more than reordered additions explain.
quant::PadResult with_padded_channels(const Model& network, const quant::Platform& platform,
                                      const quant::PrepareOptions& options, const data::Samples& samples,
                                      ThreadPool& pool);

/// Stores `network` before rewriting, with `keep` samples drawn by `seed`, or all if there are fewer. A network with a
/// fixed batch size gets whole batches. Throws for a negative number.
std::shared_ptr<const Source> source_of(const Model& network, const data::Samples& samples, int64_t keep,
                                        uint64_t seed);

/// Compares the source of `prepared` with its float form, on one batch of stored samples, or of given ones if none are
/// stored.
verify::FloatReport check_floats(const Model& prepared, const data::Samples& samples, ThreadPool& pool);
/// Compares the source of `prepared` with its float form on `inputs`.
verify::FloatReport check_floats(const Model& prepared, const Tensors& inputs, ThreadPool& pool);

/// Throws if a newly prepared network differs from its source model in float. Otherwise returns the measured
/// differences.
verify::FloatReport require_same_floats(const Model& prepared, const data::Samples& samples, ThreadPool& pool);

/// Adds results of the semantic check to the layers of `report`.
void add_semantics(verify::VerifyReport& report, std::vector<verify::LayerSemantics> layers);

/// Runs the semantic check between the layers of `integer` and the source of `prepared`, and adds the results to
/// `report`. It uses the stored samples and the first 64 given ones, or all samples if the options request it. If the
/// check is impossible, `report` receives the reason.
void check_semantics(verify::VerifyReport& report, const Model& prepared, const Model& integer,
                     const data::Samples& samples, const verify::SemanticOptions& options, ThreadPool& pool,
                     const ProgressCallback& progress);

}  // namespace halfstep::api
