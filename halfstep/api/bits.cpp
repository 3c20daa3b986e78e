#include "halfstep/api/bits.h"

#include <algorithm>
#include <utility>

#include "halfstep/api/detail/option_checks.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/limits.h"

namespace halfstep::api {

namespace {

/// Repairs, trains, converts and verifies a network with chosen bit widths, as the options request.
void follow_up(BitsResult& bits, const Dataset& data, const BitsOptions& options, const Settings& settings) {
  Model& model = bits.allocation.model;
  if (repair::any(options.quantize.repair)) {
    QuantizeOptions how = options.quantize;
    how.bits.clear();
    QuantizeResult repaired = repair(model, data, how, settings);
    model = std::move(repaired.model);
    bits.repaired = std::move(repaired.repair);
  }
  if (options.train.epochs > 0) {
    bits.trained = train(model, data, options.train, settings);
    model = std::exchange(bits.trained->model, Model());
  }
  if (!options.prove) return;
  Model integer = api::convert(model, options.convert).model;
  verify::VerifyReport equivalence = api::verify(model, integer, data, {}, settings);
  bits.proof = {std::move(integer), std::move(equivalence)};
}

}  // namespace

BitsResult bits(const Model& network, const Dataset& data, const BitsOptions& options, const Settings& settings) {
  check_options(options.quantize);
  require_in_range(options);
  limits::kTuneEpochs.require("epochs", options.train.epochs);
  TrainOptions tuning = options.train;
  tuning.epochs = std::max<int64_t>(1, tuning.epochs);
  check_options(tuning);
  QuantizeOptions before = options.quantize;
  before.repair.methods.clear();
  const Model model = prepared_of(network, data, options.platform, before, settings);
  if (options.prove) quant::require_integers(model, options.convert);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  allocation::Options how = options.allocation;
  how.calibration = options.quantize.calibration;
  how.calibration.seed = settings.seed;
  BitsResult bits{allocation::allocate(model, parts.train, how, settings.seed, pool, settings.progress),
                  model.graph.name(), quant::platform_of(model).name};
  for (std::string& note : notes_on(model, data)) bits.allocation.notes.push_back(std::move(note));
  follow_up(bits, data, options, settings);
  return bits;
}

}  // namespace halfstep::api
