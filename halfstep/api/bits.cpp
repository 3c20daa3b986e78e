#include "halfstep/api/bits.h"

#include "halfstep/api/dataset.h"
#include "halfstep/api/model.h"

namespace halfstep::api {

Bits bits(const Model& network, const Dataset& data, const BitsOptions& options, const Settings& settings) {
  const Model model = prepared_of(network, data, options.platform, options.quantize, settings);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  bits::Options how = options.how;
  how.calibration = {options.quantize.calibration_batch, options.quantize.calibration_batches, settings.seed};
  Bits bits{bits::allocate(model, parts.train, how, settings.seed, pool, settings.progress), model.graph.name(),
            quant::platform_of(model).name};
  for (std::string& note : notes_on(model, data)) bits.result.notes.push_back(std::move(note));
  return bits;
}

}  // namespace halfstep::api
