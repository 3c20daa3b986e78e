#include "halfstep/train/loop/run_folder.h"

#include <fmt/format.h>

#include <optional>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/train/loop/checkpoint.h"
#include "halfstep/train/loop/errors.h"

namespace halfstep::train {
namespace {

RunKey key_of(const Model& model, const data::Samples& samples, const FitOptions& fit) {
  const auto& optimizer = fit.optimizer;
  const bool is_adam = optimizer.kind == passes::OptimizerSpec::Kind::adam;
  RunKey key{digest_hex(model), samples.data->name, data::content_digest(samples), {}};
  const auto add = [&](const char* name, const auto& value) {
    key.settings.emplace_back(name, fmt::format("{}", value));
  };
  add("preprocessing", to_text(samples.preprocess));
  add("images changed by", fit.augment.text());
  add("distilled", fit.distill);
  if (fit.loss) add("loss", fit.loss.text);  // checkpoints of earlier versions have no loss
  std::vector<std::string> teachers;
  for (const Model& teacher : fit.teachers) teachers.push_back(digest_hex(teacher));
  add("teachers", fmt::format("{}", fmt::join(teachers, " ")));
  add("best state kept", fit.keep_best);
  add("epochs", fit.epochs);
  add("batch", fit.batch);
  add("learning rate", fit.learning_rate);
  add("recipe", fit.recipe.text());
  add("warmup", fit.warmup);
  add("average", fit.ema);
  add("seed", fit.seed);
  add("optimizer", is_adam ? "adam" : "sgd");
  add("momentum", optimizer.momentum);
  add("betas", fmt::format("{} {}", optimizer.beta1, optimizer.beta2));
  add("epsilon", optimizer.epsilon);
  add("weight decay", optimizer.weight_decay);
  return key;
}

}  // namespace

std::filesystem::path result_path(const std::filesystem::path& folder) { return folder / "model.safetensors"; }

double run_epoch(Fit& fit, const std::filesystem::path& result, const ProgressCallback& progress,
                 std::string_view stage) {
  try {
    return fit.run_epoch(progress, stage);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input || fit.state().history.validation_results.empty() || result.empty()) throw;
    save_model(fit.result(), result);
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    diagnostics.push_back(errors::best_state_kept(result.string(), best_text(fit.state().history)));
    throw Error(std::move(diagnostics));
  }
}

namespace {

RunOutcome outcome_of(const Fit& fit, RunOutcome outcome) {
  outcome.times = fit.times();
  outcome.history = fit.state().history;
  outcome.frozen_weights = fit.frozen_weights();
  outcome.notes = fit.notes();
  BatchNormUpdate renormalized = fit.renormalized();
  outcome.renormalized = std::move(renormalized.what);
  outcome.model = std::move(renormalized.model);
  return outcome;
}

RunOutcome run_in_memory(const Model& model, const data::Samples& samples, const RunOptions& options, ThreadPool& pool,
                         const ProgressCallback& progress) {
  if (options.resume) fail(errors::resume_without_folder());
  Fit fit(model, samples, options.fit, pool);
  RunOutcome outcome;
  while (!fit.finished()) outcome.loss = run_epoch(fit, {}, progress);
  return outcome_of(fit, std::move(outcome));
}

}  // namespace

void require_free(const std::filesystem::path& folder) {
  const auto last = last_checkpoint(folder);
  const auto result = result_path(folder);
  if (!last && !std::filesystem::exists(result)) return;
  fail(errors::run_folder_taken(folder.string(), (last ? *last : result).filename().string()));
}

void remove_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  remove_checkpoints_after(folder, 0);
  std::filesystem::remove(result_path(folder), ignored);
  std::filesystem::remove(folder, ignored);
}

RunOutcome run(const Model& model, const data::Samples& samples, const RunOptions& options, ThreadPool& pool,
               const ProgressCallback& progress) {
  if (options.folder.empty()) return run_in_memory(model, samples, options, pool, progress);
  const auto result = result_path(options.folder);
  std::optional<io::Claim> claim;
  if (!options.resume && std::filesystem::is_directory(options.folder)) claim = io::Claim::of_folder(options.folder);
  const auto require = [&] {
    if (!options.resume && !options.overwrite) require_free(options.folder);
  };
  require();
  const RunKey key = key_of(model, samples, options.fit);
  const auto last = options.resume ? last_checkpoint(options.folder) : std::nullopt;
  Fit fit(model, samples, options.fit, pool, last ? std::optional(load_checkpoint(*last, model, key)) : std::nullopt);
  RunOutcome outcome;
  outcome.first_epoch = fit.state().epoch;
  outcome.was_finished = fit.finished() && std::filesystem::exists(result);
  if (!outcome.was_finished) {
    if (!claim) claim = io::Claim::of_folder(options.folder);
    require();  // another process may have run meanwhile
    while (!fit.finished()) {
      outcome.loss = run_epoch(fit, result, progress);
      save_checkpoint(checkpoint_path(options.folder, fit.state().epoch), fit.current(), fit.state(), key);
      remove_checkpoints_after(options.folder, fit.state().epoch);
    }
  }
  const bool was_finished = outcome.was_finished;
  outcome = outcome_of(fit, std::move(outcome));
  if (!was_finished) save_model(outcome.model, result);
  return outcome;
}

}  // namespace halfstep::train
