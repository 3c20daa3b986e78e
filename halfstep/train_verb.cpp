#include "halfstep/data.h"
#include "halfstep/halfstep.h"
#include "halfstep/io/atomic_file.h"
#include "halfstep/network.h"
#include "halfstep/train/executable.h"
#include "halfstep/train/network.h"
#include "halfstep/train/run.h"

namespace halfstep {
namespace {

Model fresh_network(const TrainRequest& request, const io::Dataset& data, uint64_t seed) {
  require_every_class(data);
  Model model =
      train::create_network(request.network, data.sample_dims(), static_cast<int64_t>(data.classes.size()), seed);
  train::set_preprocess(model, train::natural_scale(train::split(data).train));
  return model;
}

}  // namespace

TrainReport train_model(const TrainRequest& request, const Settings& settings) {
  if (request.epochs < 1) fail("epochs: found {}, expected at least 1", request.epochs);
  if (request.batch < 1) fail("batch: found {}, expected at least 1", request.batch);
  io::require_folder_target(request.out);
  Model model = request.model.empty() ? Model() : load_network(request.model, request.data, {});
  const io::Dataset data = request.model.empty() ? open_data(request.data) : open_data_for(model, request.data);
  if (request.model.empty()) model = fresh_network(request, data, settings.seed);
  const std::string stage = stage_of(model);
  if (stage == "integer")
    fail("{}: is an integer program, which cannot be trained; train the prepared network it came from",
         request.model.string());
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);

  train::RunOptions options;
  options.folder = request.out;
  options.resume = request.resume;
  options.fit.epochs = request.epochs;
  options.fit.batch = request.batch;
  options.fit.seed = settings.seed;
  options.fit.augment = request.augment;
  options.fit.distill = request.distill;
  options.fit.learning_rate = request.learning_rate.value_or(stage == "float" ? 0.05 : 0.001);
  options.fit.optimizer.weight_decay = 1e-4;
  options.fit.average_decay = 0.99;
  options.fit.keeps_best = !request.model.empty();
  options.fit.profile = request.profile;
  const auto outcome = train::run(model, parts.train, options, pool, settings.progress);
  return {digest_hex(outcome.model),
          data.has_labels() ? std::optional(train::accuracy(outcome.model, parts.test, pool)) : std::nullopt,
          outcome.loss,
          parts.test.size(),
          outcome.first_epoch,
          request.epochs,
          outcome.was_finished,
          outcome.times.median(),
          outcome.times.operators(),
          outcome.course};
}

EvaluateReport evaluate_model(const EvaluateRequest& request, const Settings& settings) {
  Model model = load_network(request.model, request.data, request.preprocess);
  if (request.preprocess) train::set_preprocess(model, *request.preprocess);
  const io::Dataset data = open_data_for(model, request.data);
  const auto parts = parts_for(model, data);
  ThreadPool pool(settings.threads);
  return {stage_of(model), train::accuracy(model, parts.test, pool), train::usable(model, parts.test.size())};
}

}  // namespace halfstep
