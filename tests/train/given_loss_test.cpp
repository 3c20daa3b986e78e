// Losses of outputs and targets in training.
#include <gtest/gtest.h>

#include "halfstep/core/ir/metadata/training_run.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/loss_meter.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/fit.h"
#include "tests/support/error.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

/// Samples whose target is a linear function of them.
data::Dataset regression() {
  data::Dataset data = random_data(256);
  Tensor target(DType::f32, {256, 4});
  const auto x = data.x.data<float>();
  for (size_t i = 0; i < 256 * 4; ++i) target.data<float>()[i] = x[i / 4 * 8 + i % 4] - x[i / 4 * 8 + 4 + i % 4];
  data.targets.emplace("target", std::move(target));
  return data;
}

FitOptions options_for(const char* loss, int64_t epochs = 4) {
  FitOptions options;
  options.epochs = epochs;
  options.batch = 16;
  options.keep_best = true;
  options.loss = losses::named_loss(loss);
  return options;
}

struct Trained {
  std::string digest;
  TrainingHistory history;
};

Trained trained(const Model& model, const data::Dataset& data, const FitOptions& options, int threads = 1) {
  ThreadPool pool(threads);
  Fit fit(model, all_of(data), options, pool);
  while (!fit.finished()) fit.run_epoch();
  return {digest_hex(fit.result()), fit.state().history};
}

TEST(GivenLoss, FloatNetworksLearnTargets) {
  const data::Dataset data = regression();
  const Trained result = trained(float_network(), data, options_for("mse * 0.5 + l1"));
  const auto& results = result.history.validation_results;
  ASSERT_EQ(results.size(), 5U);
  EXPECT_GT(result.history.best, 0);
  EXPECT_LT(results.back().loss, results.front().loss / 2);
  EXPECT_FALSE(results.back().right.has_value());
  EXPECT_EQ(trained(float_network(), data, options_for("mse * 0.5 + l1"), 3).digest, result.digest);
}

TEST(GivenLoss, PreparedNetworksLearnTargets) {
  const data::Dataset data = regression();
  Model prepared = quant::prepare(float_network(), quant::load_platform("generic_int8"), {4, 4, {}});
  ThreadPool pool(1);
  calibrate(prepared, all_of(data), {.batch = 64, .batches = 1}, pool);
  FitOptions options = options_for("mse", 6);
  options.learning_rate = 0.02;
  const Trained result = trained(prepared, data, options);
  EXPECT_GT(result.history.best, 0);
  EXPECT_LT(result.history.validation_results[static_cast<size_t>(result.history.best)].loss,
            result.history.validation_results[0].loss);
}

TEST(GivenLoss, LabelsAreATargetWithAnAccuracy) {
  const data::Dataset data = random_samples(true);
  const Trained given = trained(float_network(), data, options_for("cross_entropy(target=labels)"));
  FitOptions usual = options_for("");
  usual.loss = {};
  const Trained labels = trained(float_network(), data, usual);
  for (size_t epoch = 0; epoch < given.history.validation_results.size(); ++epoch) {
    const ValidationResult &a = given.history.validation_results[epoch], &b = labels.history.validation_results[epoch];
    EXPECT_NEAR(a.loss, b.loss, 1e-4);
    EXPECT_NEAR(a.right.value(), b.right.value(), 0.1);
  }
}

TEST(GivenLoss, TargetsNeedALossAndNothingElseChangesThem) {
  const data::Dataset data = regression();
  const auto refused = [&](const FitOptions& options) {
    return test::diagnostic_of([&] { training_step(float_network(), all_of(data), options); });
  };
  EXPECT_EQ(refused(FitOptions()), errors::targets_without_loss("random", "target"));
  FitOptions options = options_for("mse");
  options.recipe.mixup = 0.2;
  EXPECT_EQ(refused(options), errors::loss_without_targets("mse", "mixup"));
  options.recipe.mixup = 0;
  options.recipe.label_smoothing = 0.1;
  EXPECT_EQ(refused(options), errors::loss_without_targets("mse", "label_smoothing"));
  options.recipe.label_smoothing = 0;
  options.distill = true;
  EXPECT_EQ(refused(options), errors::loss_without_targets("mse", "distill"));
}

TEST(GivenLoss, AWrongTargetIsNamedBeforeTheFirstStep) {
  data::Dataset data = random_samples(false);
  data.targets.emplace("target", Tensor(DType::i32, {96}));
  data.targets.at("target").data<int32_t>()[17] = 4;
  ThreadPool pool(1);
  const losses::NamedLoss loss = losses::named_loss("cross_entropy");
  const Diagnostic found = test::diagnostic_of([&] { check_targets(loss, float_network(), all_of(data), pool); });
  const Diagnostic expected = errors::operand_index_out_of_range("target 0", 4, "0 to 3");
  EXPECT_EQ(found.entry, expected.entry);
  EXPECT_EQ(found.found, expected.found);
  EXPECT_EQ(found.expected, expected.expected);
  EXPECT_EQ(found.where, "random: sample 17, loss cross_entropy");
  EXPECT_EQ(found.layer, "c");
  check_targets(losses::named_loss("cross_entropy(ignore=4)"), float_network(), all_of(data), pool);
}

}  // namespace
}  // namespace halfstep::train
