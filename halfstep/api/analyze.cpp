#include "halfstep/api/analyze.h"

#include "halfstep/api/dataset.h"
#include "halfstep/api/model.h"

namespace halfstep::api {
namespace {

Model prepared_of(const Model& network, const Dataset& data, const AnalyzeOptions& options, const Settings& settings) {
  switch (stage_of(network)) {
    case Stage::prepared: break;
    case Stage::integer:
      fail("network '{}' is an integer program, expected the prepared network that it was made of",
           network.graph.name());
    case Stage::in_float:
      if (!options.platform)
        fail("network '{}' is in float: name a platform to quantize it for (--platform), or give a prepared network",
             network.graph.name());
      return quantize(network, *options.platform, data, options.quantize, settings).model;
  }
  Model model = network;
  train::change_preprocess(model, options.quantize.preprocess);
  return model;
}

}  // namespace

Analysis analyze(const Model& network, const Dataset& data, const AnalyzeOptions& options, const Settings& settings) {
  const Model model = prepared_of(network, data, options, settings);
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
