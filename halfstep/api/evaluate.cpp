#include "halfstep/api/evaluate.h"

#include "halfstep/api/dataset.h"
#include "halfstep/api/model.h"
#include "halfstep/train/executable.h"

namespace halfstep::api {

Evaluation evaluate(const Model& network, const Dataset& data, const std::optional<train::Preprocess>& preprocess,
                    const Settings& settings) {
  Model model = network;
  if (preprocess) train::set_preprocess(model, *preprocess);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  return {stage_of(model), train::accuracy(model, parts.test, pool), train::usable(model, parts.test.size())};
}

}  // namespace halfstep::api
