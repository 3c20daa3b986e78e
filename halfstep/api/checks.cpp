#include "halfstep/api/checks.h"

#include <algorithm>

#include "halfstep/core/base/diagnostics.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/quant/prepare/asked_widths.h"

namespace halfstep::api {

void check_options(const QuantizeOptions& options) {
  quant::check_widths(options.widths);
  limits::kBatch.require("calibration batch", options.calibration_batch);
  limits::kCalibrationBatches.require("calibration batches", options.calibration_batches);
  limits::kSamples.require("keep samples", options.stored_samples);
  if (options.max_length) limits::kLength.require("max length", *options.max_length);
  repair::check_methods(options.repair);
  repair::require_free(options.repair);
}

void check_options(const TrainOptions& options) {
  limits::kEpochs.require("epochs", options.epochs);
  limits::kBatch.require("batch", options.batch);
  if (options.learning_rate) limits::kLearningRate.require("learning rate", *options.learning_rate);
  limits::kShare.require("ema", options.average_decay);
  limits::kShare.require("weight decay", options.weight_decay);
  limits::kShift.require("shift", options.augment.shift);
  limits::kIterations.require("max iterations", options.max_iterations);
  options.recipe.check();
  check_options(options.schedule.quantize);
}

void rethrow_as_convert(const Model& prepared, const Error& error) {
  std::vector<Diagnostic> objections;
  collect(objections, "", "", [&] { quant::convert(prepared, {.float_islands = true}); });
  const auto is_said = [&](const Diagnostic& one) {
    // A kernel's own reason is the problem of the diagnostic that conversion makes of it.
    return std::ranges::any_of(error.diagnostics(), [&](const Diagnostic& said) {
      return said.says_the_same_as(one) || said.reason() == one.problem;
    });
  };
  if (std::ranges::any_of(objections, is_said)) fail_on_any(std::move(objections));
}

}  // namespace halfstep::api
