#include "halfstep/tune/repair/repair.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/limits.h"
#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/claim.h"
#include "halfstep/passes/graph/dynamic_batch.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/evaluate/with_dynamic_batch.h"
#include "halfstep/tune/repair/block_checkpoint.h"
#include "halfstep/tune/repair/errors.h"
#include "halfstep/tune/repair/layers.h"
#include "halfstep/tune/repair/method.h"

namespace halfstep::repair {
namespace {

bool is_auto(const Options& options) { return std::ranges::find(options.methods, kAuto) != options.methods.end(); }

std::vector<Method> chosen(const Options& options) {
  std::vector<Method> chosen;
  for (const Method& method : methods()) {
    if (is_auto(options) || std::ranges::find(options.methods, method.info.name) != options.methods.end())
      chosen.push_back(method);
  }
  return chosen;
}

/// The samples that calibration reads, in its order.
data::Samples seen_by(const train::CalibrateOptions& calibration, const data::Samples& samples) {
  data::Samples seen = samples;
  const auto order = Random(calibration.seed, 0).permutation(samples.size());
  const int64_t count = std::min(samples.size(), calibration.batch * calibration.batches);
  seen.indices.clear();
  for (int64_t i = 0; i < count; ++i)
    seen.indices.push_back(samples.indices[static_cast<size_t>(order[static_cast<size_t>(i)])]);
  seen.validation.clear();  // use no samples other than those of calibration
  return seen;
}

/// Throws if a layer's output is NaN or infinite, because distances would be meaningless.
void require_numbers(const Model& prepared, const data::Samples& samples, ThreadPool& pool) {
  std::vector<Watched> watched;
  for (const Layer& layer : layers_of(prepared)) watched.push_back({layer.op.out(0).name()});
  moments_of(train::teacher_of(prepared, samples.data->name), watched, samples, pool);
}

class Repair {
 public:
  Repair(const Model& prepared, const data::Samples& samples, const train::CalibrateOptions& calibration,
         const Options& options, ThreadPool& pool, const ProgressCallback& progress)
      : options_(options),
        folder_(options.folder),
        calibration_(calibration),
        parts_(data::split_validation(seen_by(calibration, samples), data::batch_of(prepared, 1), calibration.seed)),
        pool_(pool),
        progress_(progress),
        state_{prepared, prepared} {
    require_free(options);
    parts_.train.indices.resize(static_cast<size_t>(data::usable(prepared, parts_.train.size())));
    require_numbers(prepared, parts_.train, pool);
    const std::string& name = samples.data->name;
    train::BatchRunner teacher(train::teacher_of(prepared, name), {}, pool);
    const int64_t batch = data::batch_of(prepared, std::min<int64_t>(64, parts_.train.size()));
    spreads_ = train::spreads_of(prepared, train::answers_of(teacher), parts_.train, batch, calibration.seed);
  }

  Outcome run() {
    const Judge judge(state_.model, parts_.validation_split, spreads_, pool_),
        learning(state_.model, parts_.train, spreads_, pool_);
    const RepairContext context{parts_.train, calibration_, spreads_, learning, options_, pool_, progress_};
    report_ = {parts_.train.size(), parts_.validation_split.size(), judge.has_labels(), {}, judge(state_.model), {}};
    report_.last = report_.first;
    const std::vector<Method> all = chosen(options_);
    for (size_t i = 0; i < all.size(); ++i) {
      take(all[i], context, judge);
      if (progress_)
        progress_({"repair", static_cast<double>(i + 1), static_cast<double>(all.size()), report_.steps.back().name});
    }
    return {std::move(state_.model), std::move(report_)};
  }

 private:
  void take(const Method& method, const RepairContext& context, const Judge& judge) {
    const auto begin = std::chrono::steady_clock::now();
    Step step{method.info.name, {}, report_.last, report_.last};
    if (is_auto(options_) && report_.last.loss < method.info.enough) {
      step.what = fmt::format("not tried: the distance is below {:g} already", method.info.enough);
    } else {
      Change change = applied(method, context);
      step.what = std::move(change.what);
      step.changed = change.state.has_value();
      if (change.state) step.after = judge(change.state->model);
      step.kept = change.state && gains(report_.first, step.before, step.after, report_.validation_split);
      if (step.kept) {
        state_ = std::move(*change.state);
        report_.last = step.after;
      }
    }
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    report_.steps.push_back(std::move(step));
  }

  /// Applies a method. If the network does not support it, the state does not change.
  Change applied(const Method& method, const RepairContext& context) const {
    try {
      return method.apply(state_, context);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      return {std::nullopt, fmt::format("not possible: {}", error.what())};
    }
  }

  const Options& options_;
  io::HeldFolder folder_;
  train::CalibrateOptions calibration_;
  data::ValidationSplit parts_;
  ThreadPool& pool_;
  const ProgressCallback& progress_;
  train::Spreads spreads_;
  State state_;
  Report report_;
};

}  // namespace

void check_methods(const Options& options) {
  require_in_range(options);
  if (options.resume && options.folder.empty()) fail(errors::repair_resume_without_folder());
  std::vector<std::string> known;
  for (const MethodInfo& method : method_list()) known.emplace_back(method.name);
  known.emplace_back(kAuto);
  for (const std::string& name : options.methods) {
    if (std::ranges::find(known, name) == known.end())
      fail(errors::repair_method_unknown(name, fmt::format("{}", fmt::join(known, ", ")), did_you_mean(name, known)));
  }
}

Outcome repair(const Model& prepared, const data::Samples& samples, const train::CalibrateOptions& calibration,
               const Options& options, ThreadPool& pool, const ProgressCallback& progress) {
  check_methods(options);
  const Model opened = train::with_dynamic_batch(prepared, samples, pool);
  Outcome outcome = Repair(opened, samples, calibration, options, pool, progress).run();
  outcome.report.note = train::fixed_batch_note(opened);
  outcome.model = passes::close_batch(std::move(outcome.model), prepared);
  return outcome;
}

}  // namespace halfstep::repair
