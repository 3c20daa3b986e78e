#include "halfstep/api/analyze.h"

#include "halfstep/api/dataset.h"
#include "halfstep/api/model.h"

namespace halfstep::api {
Analysis analyze(const Model& network, const Dataset& data, const AnalyzeOptions& options, const Settings& settings) {
  const Model model = prepared_of(network, data, options.platform, options.quantize, settings);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  analyze::AnalyzeOptions how = options.how;
  how.seed = settings.seed;
  Analysis analysis{{}, model.graph.name(), quant::platform_of(model).name, {}};
  analysis.part = options.on_training ? "training part" : parts.tested;
  analysis.result =
      analyze::analyze(model, options.on_training ? parts.train : parts.test, how, pool, settings.progress);
  for (std::string& note : notes_on(model, data)) analysis.result.notes.push_back(std::move(note));
  return analysis;
}

}  // namespace halfstep::api
