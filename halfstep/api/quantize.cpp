#include "halfstep/api/quantize.h"

#include <algorithm>

#include "halfstep/api/detail/declared_codes.h"
#include "halfstep/api/detail/network_source.h"
#include "halfstep/api/detail/option_checks.h"
#include "halfstep/api/detail/remedies.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/quant/prepare/quantized_regions.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/calibrate/hiding_masks.h"

namespace halfstep::api {
namespace {

QuantizeResult described(Model model, int64_t samples) {
  settle_own_quantizers(model);
  quant::Audit audit = quant::audit(model);
  quant::Platform platform = quant::platform_of(model);
  std::string preprocess = to_text(data::preprocess_of(model));
  return {std::move(model), std::move(audit), std::move(platform), std::move(preprocess), samples, {}};
}

void set_bits(Model& model, const std::vector<LayerBits>& all) {
  for (const LayerBits& bits : all) quant::set_bits(model, bits.selector, bits.weights, bits.activations);
}

train::CalibrateOptions calibration_of(const QuantizeOptions& options, const Settings& settings) {
  train::CalibrateOptions calibration = options.calibration;
  calibration.seed = settings.seed;
  return calibration;
}

/// Adds warnings about suspicious results to the notes.
void warn(QuantizeResult& result, const data::Samples& samples, const train::CalibrateOptions& calibration,
          ThreadPool& pool) {
  in_words_of_convert(result.model, [&] {
    add_warnings(result.notes, result.model, samples, {samples, calibration, pool});
  });
}

repair::Report correct(Model& model, const data::Samples& samples, const train::CalibrateOptions& calibration,
                       const repair::Options& options, ThreadPool& pool, const ProgressCallback& progress) {
  repair::Outcome outcome =
      in_words_of_convert(model, [&] { return repair::repair(model, samples, calibration, options, pool, progress); });
  model = std::move(outcome.model);
  return std::move(outcome.report);
}

}  // namespace

QuantizeResult quantize(const Model& network, const Platform& platform, const Dataset& data,
                        const QuantizeOptions& options, const Settings& settings) {
  check_options(options);
  const Stage stage = stage_of(network);
  if (stage == Stage::prepared && repair::any(options.repair)) return repair(network, data, options, settings);
  if (stage == Stage::prepared)
    fail(errors::wrong_stage(place_of(network), "a prepared network", "a float network",
                             "set the bits of layers, repair it, or start from the float network"));
  if (stage == Stage::integer)
    fail(errors::wrong_stage(place_of(network), "an integer program", "a float or prepared network",
                             "use its source network"));
  Model model = quant::own_weights(quant::with_regions(network, options.regions), options.prepare);
  data::change_preprocess(model, options.preprocess);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  quant::PadResult source{model, {}};
  if (options.pad_channels) source = with_padded_channels(model, platform, options.prepare, parts.train, pool);
  model = quant::prepare(source.model, platform, options.prepare);
  set_bits(model, options.bits);
  train::require_hiding_masks(model, parts.train, pool);
  const train::CalibrateOptions calibration = calibration_of(options, settings);
  train::Calibrated calibrated = train::calibrate(model, parts.train, calibration, pool, settings.progress);
  model.source = source_of(source.model, parts.train, options.keep_samples, settings.seed);
  const verify::FloatReport floats = require_same_floats(model, parts.train, pool);
  std::optional<repair::Report> repaired;
  if (repair::any(options.repair))
    repaired = correct(model, parts.train, calibration, options.repair, pool, settings.progress);
  QuantizeResult result = described(std::move(model), calibrated.samples);
  result.notes = notes_on(result.model, data);
  std::ranges::move(calibrated.warnings, std::back_inserter(result.notes));
  if (repaired && repaired->note) result.notes.push_back(*repaired->note);
  warn(result, parts.train, calibration, pool);
  result.padded = std::move(source.layers);
  const auto norms_of = [](const Model& of) { return std::ssize(of.graph.all<ops::BatchNorm>()); };
  result.normalizations = norms_of(source.model) - norms_of(result.model);
  result.batch_norms = options.prepare.batch_norm;
  result.difference = floats.difference;
  result.repair = std::move(repaired);
  return result;
}

QuantizeResult repair(const Model& prepared, const Dataset& data, const QuantizeOptions& options,
                      const Settings& settings) {
  check_options(options);
  require_stage(prepared, Stage::prepared);
  Model model = prepared;
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  set_bits(model, options.bits);
  const train::CalibrateOptions calibration = calibration_of(options, settings);
  repair::Report report = correct(model, parts.train, calibration, options.repair, pool, settings.progress);
  QuantizeResult result = described(std::move(model), 0);
  result.notes = notes_on(result.model, data);
  if (report.note) result.notes.push_back(*report.note);
  warn(result, parts.train, calibration, pool);
  result.repair = std::move(report);
  return result;
}

Model prepared_of(const Model& network, const Dataset& data, const std::optional<Platform>& platform,
                  const QuantizeOptions& options, const Settings& settings) {
  const Stage stage = stage_of(network);
  if (stage == Stage::integer)
    fail(errors::wrong_stage(place_of(network), "an integer program", "a float or prepared network",
                             "use its source network"));
  if (stage == Stage::float_network) {
    if (platform) return quantize(network, *platform, data, options, settings).model;
    fail(errors::no_platform(network.graph.name(), "a platform to quantize it for",
                             "set one (--platform), or pass a prepared network"));
  }
  Model model = network;
  data::change_preprocess(model, options.preprocess);
  return model;
}

QuantizeResult audit(const Model& prepared) {
  require_stage(prepared, Stage::prepared);
  return described(prepared, 0);
}

QuantizeResult change_bits(const Model& prepared, const std::vector<LayerBits>& bits) {
  require_stage(prepared, Stage::prepared);
  Model model = prepared;
  set_bits(model, bits);
  return described(std::move(model), 0);
}

}  // namespace halfstep::api
