#include "halfstep/api/analyze.h"

#include <algorithm>

#include "halfstep/api/detail/option_checks.h"
#include "halfstep/api/detail/remedies.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/train/evaluate/with_dynamic_batch.h"
#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::api {
namespace {

/// Replaces the suggestions of a quantizer that crushes values by this warning and its remedy.
void add_crushed(sensitivity::Analysis& analysis, const Model& prepared, const data::Samples& watched,
                 const Trials& trials) {
  for (CrushedWarning& warning : warnings_on(prepared, watched, trials)) {
    const auto one = std::ranges::find(analysis.quantizers, warning.quantizer, &sensitivity::QuantizerAnalysis::name);
    if (one != analysis.quantizers.end()) one->suggestions = {std::move(warning.sentence)};
  }
}

}  // namespace

AnalyzeResult analyze(const Model& network, const Dataset& data, const AnalyzeOptions& options,
                      const Settings& settings) {
  check_options(options.quantize);
  require_in_range(options);
  const Model prepared = prepared_of(network, data, options.platform, options.quantize, settings);
  const auto parts = parts_for(prepared, data);
  ThreadPool pool(settings.threads);
  const Model model = train::with_dynamic_batch(prepared, parts.train, pool);
  sensitivity::AnalyzeOptions how = options.sensitivity;
  how.seed = settings.seed;
  AnalyzeResult analysis{{}, model.graph.name(), quant::platform_of(model).name, {}};
  const bool on_training = options.part == DataPart::train;
  analysis.part = on_training ? "training part" : parts.tested;
  const data::Samples& watched = on_training ? parts.train : parts.test;
  analysis.sensitivity = sensitivity::analyze(model, watched, how, pool, settings.progress);
  const train::CalibrateOptions& asked = options.quantize.calibration;
  const Trials trials{.learned = parts.train,
                      .calibration = {.batch = asked.batch, .batches = asked.batches, .seed = settings.seed},
                      .pool = pool,
                      .for_large = true};
  const sensitivity::Trial trial(sensitivity::FloatNetwork(model).in_float(), watched, how.samples, settings.seed,
                                 pool);
  try_advice(analysis.sensitivity, model, trial, trials, options.tries, settings.progress);
  add_crushed(analysis.sensitivity, model, watched, trials);
  for (std::string& note : notes_on(model, data)) analysis.sensitivity.notes.push_back(std::move(note));
  if (auto note = train::fixed_batch_note(model)) analysis.sensitivity.notes.push_back(std::move(*note));
  return analysis;
}

}  // namespace halfstep::api
