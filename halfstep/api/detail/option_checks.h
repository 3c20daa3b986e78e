// Numbers in the options of verbs, held against core/base/limits.h before any work.
#pragma once

#include "halfstep/api/quantize.h"
#include "halfstep/api/train.h"
#include "halfstep/core/base/status.h"

namespace halfstep::api {

/// Each throws Error, naming the option, for a number that it does not take.
void check_options(const QuantizeOptions& options);
void check_options(const TrainOptions& options);

/// Throws what convert refuses of `prepared` where `error`, of a run of it, says the same.
void rethrow_as_convert(const Model& prepared, const Error& error);

/// Does `work`, which runs the prepared network. Where a layer has no factor on codes, the error is the one of convert:
/// it names the layer and what to do.
template <class Work>
auto in_words_of_convert(const Model& prepared, Work work) {
  try {
    return work();
  } catch (const Error& error) {
    rethrow_as_convert(prepared, error);
    throw;
  }
}

}  // namespace halfstep::api
