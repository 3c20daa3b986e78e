#include "halfstep/api/train.h"

#include "halfstep/api/detail/iterations.h"
#include "halfstep/api/detail/option_checks.h"
#include "halfstep/api/detail/train_in_stages.h"
#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/dataset.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/passes/canonical/layer_forms.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/loss_meter.h"
#include "halfstep/train/loop/run_folder.h"

namespace halfstep::api {
namespace {

losses::NamedLoss loss_of(const TrainOptions& options) {
  if (options.given_loss || !options.loss) return options.given_loss;
  return losses::named_loss(*options.loss);
}

train::RunOptions run_options(const TrainOptions& options, Stage stage, uint64_t seed,
                              const train::IterationWatch& watch) {
  train::RunOptions run;
  run.folder = options.folder.value_or("");
  run.resume = options.resume;
  run.overwrite = options.overwrite;
  run.fit.epochs = options.epochs;
  run.fit.batch = options.batch;
  run.fit.seed = seed;
  run.fit.augment = options.augment;
  run.fit.recipe = options.recipe;
  run.fit.loss = loss_of(options);
  run.fit.distill = options.distill;
  run.fit.teachers = options.teachers;
  run.fit.learning_rate = options.learning_rate.value_or(stage == Stage::float_network ? 0.05 : 0.001);
  run.fit.optimizer.weight_decay = options.weight_decay;
  run.fit.ema = options.ema;
  run.fit.keep_best = options.keep_best;
  run.fit.profile = options.profile;
  run.fit.watch_iterations = watch;
  return run;
}

void check_targets(const TrainOptions& options, const Model& network, const data::TrainTest& parts, ThreadPool& pool) {
  const losses::NamedLoss loss = loss_of(options);
  if (!loss) return;
  for (const data::Samples* samples : {&parts.train, &parts.test}) train::check_targets(loss, network, *samples, pool);
}

}  // namespace

TrainResult train(const Model& given, const Dataset& data, const TrainOptions& options, const Settings& settings) {
  check_options(options);
  if (options.schedule.stages.empty() && options.schedule.platform)
    fail(errors::platform_without_schedule(options.schedule.platform->name));
  if (!options.schedule.stages.empty()) return train_in_stages(given, data, options, settings);
  Model network = given;
  data::change_preprocess(network, options.preprocess);
  const Stage stage = stage_of(network);
  if (stage == Stage::integer)
    fail(errors::wrong_stage(place_of(network), "an integer program", "a prepared or float network",
                             "train its prepared network"));
  if (stage == Stage::float_network) {
    network = clone(network);
    passes::layer_forms(network);  // operators as files have them (a clip from 0 to 6) may lack a gradient
  }
  const auto parts = parts_for(network, data);
  ThreadPool pool(settings.threads);
  check_targets(options, network, parts, pool);
  const train::IterationWatch watch = iteration_watch("training", options.max_iterations, settings.progress);
  const train::RunOptions run = run_options(options, stage, settings.seed, watch);
  auto outcome =
      in_words_of_convert(network, [&] { return train::run(network, parts.train, run, pool, settings.progress); });
  TrainResult result;
  result.digest = digest_hex(outcome.model);
  if (data::have_answers(parts.test, outcome.model))
    result.accuracy = train::accuracy(outcome.model, parts.test, pool, watch);
  if (run.fit.loss) result.tested_loss = train::evaluate_on(outcome.model, parts.test, run.fit.loss, pool, watch).loss;
  result.model = std::move(outcome.model);
  result.loss = outcome.loss;
  result.samples = parts.test.size();
  result.tested = parts.tested;
  result.notes = notes_on(network, data);
  result.notes.insert(result.notes.end(), outcome.notes.begin(), outcome.notes.end());
  result.first_epoch = outcome.first_epoch;
  result.epochs = options.epochs;
  result.was_finished = outcome.was_finished;
  result.step_milliseconds = outcome.times.median();
  result.operators = outcome.times.operators();
  result.frozen_weights = outcome.frozen_weights;
  result.renormalized = std::move(outcome.renormalized);
  result.history = std::move(outcome.history);
  return result;
}

}  // namespace halfstep::api
