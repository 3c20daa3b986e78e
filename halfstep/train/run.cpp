#include "halfstep/train/run.h"

#include <fmt/format.h>

#include "halfstep/io/atomic_file.h"
#include "halfstep/train/checkpoint.h"

namespace halfstep::train {
namespace {

/// Everything that decides the bits of the result, for comparison on resuming.
std::string settings_text(const RunOptions& options, const Samples& samples) {
  const FitOptions& fit = options.fit;
  const auto& optimizer = fit.optimizer;
  return fmt::format(
      "{}samples {}, preprocessing {}, images changed by {}, {}epochs {}, batch {}, learning rate {}, warmup {}, "
      "average "
      "{}, seed {}, "
      "optimizer {} {} "
      "{} {} {} {}",
      options.settings, samples.size(), to_text(samples.preprocess), fit.augment.text(),
      fit.distill ? "distilled, " : "", fit.epochs, fit.batch, fit.learning_rate, fit.warmup, fit.average_decay,
      fit.seed, optimizer.kind == passes::OptimizerSpec::Kind::adam ? "adam" : "sgd", optimizer.momentum,
      optimizer.beta1, optimizer.beta2, optimizer.epsilon, optimizer.weight_decay);
}

}  // namespace

RunOutcome run(const Model& model, const Samples& samples, const RunOptions& options, ThreadPool& pool,
               const ProgressCallback& progress) {
  const std::string settings = settings_text(options, samples);
  const auto result_path = options.folder / "model.safetensors";
  Fit fit(model, samples, options.fit, pool);
  RunOutcome outcome;
  const auto last = options.resume ? last_checkpoint(options.folder) : std::nullopt;
  if (last) fit.restore(load_checkpoint(*last, model, settings));
  outcome.first_epoch = fit.state().epoch;
  if (fit.finished() && std::filesystem::exists(result_path)) {
    outcome.was_finished = true;
    outcome.model = fit.result();
    return outcome;
  }
  io::make_folder(options.folder);
  while (!fit.finished()) {
    outcome.loss = fit.run_epoch(progress);
    save_checkpoint(checkpoint_path(options.folder, fit.state().epoch), model, fit.state(), settings);
    remove_checkpoints_after(options.folder, fit.state().epoch);
  }
  outcome.times = fit.times();
  outcome.model = fit.result();
  save_model(outcome.model, result_path);
  return outcome;
}

}  // namespace halfstep::train
