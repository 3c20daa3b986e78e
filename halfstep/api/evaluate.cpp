#include "halfstep/api/evaluate.h"

#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/train/evaluate/executable.h"

namespace halfstep::api {

EvaluateResult evaluate(const Model& network, const Dataset& data, const EvaluateOptions& options,
                        const Settings& settings) {
  require_in_range(options);
  Model model = network;
  data::change_preprocess(model, options.preprocess);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  const train::Scores scores = train::scores(model, parts.test, {1, options.top}, pool);
  EvaluateResult result{stage_of(model), scores.right[0], scores.loss};
  if (options.top > 1) result.top = scores.right[1];
  result.samples = data::usable(model, parts.test.size());
  result.tested = parts.tested;
  result.notes = notes_on(model, data);
  return result;
}

}  // namespace halfstep::api
