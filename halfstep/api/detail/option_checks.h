// Checks numbers in the options of verbs against core/base/limits.h before any work.
#pragma once

#include "halfstep/api/quantize.h"
#include "halfstep/api/train.h"
#include "halfstep/core/base/status.h"

namespace halfstep::api {

/// Throws Error that names the option, for a number out of range.
void check_options(const QuantizeOptions& options);
void check_options(const TrainOptions& options);

/// If convert rejects `prepared` with the same diagnostic as `error`, throws the error of convert.
void rethrow_as_convert(const Model& prepared, const Error& error);

/// Runs `work`, which executes the prepared network. If a layer's requantization is impossible, throws the error of
/// convert, which names the layer and the remedy.
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
