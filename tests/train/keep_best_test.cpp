// Training never returns a worse network: the validation split, the state that is kept, and how a run identifies its
// data.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/pipeline/errors.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/train/loop/checkpoint.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/run_folder.h"
#include "tests/support/error.h"
#include "tests/support/files.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

/// A calibrated network with its last layer multiplied by `factor`.
Model prepared_network(const data::Dataset& data, const quant::PrepareOptions& bit_widths = {4, 4, {}},
                       float factor = 1) {
  Model model = float_network();
  for (float& weight : model.tensors.at("v").data<float>()) weight *= factor;
  Model prepared = quant::prepare(model, quant::load_platform("generic_int8"), bit_widths);
  ThreadPool pool(1);
  calibrate(prepared, all_of(data), {.batch = 64, .batches = 1}, pool);
  return prepared;
}

FitOptions options_for(double rate, int64_t epochs = 4) {
  FitOptions options;
  options.epochs = epochs;
  options.batch = 16;
  options.learning_rate = rate;
  options.ema = 0.9;
  options.keep_best = true;
  return options;
}

TEST(SplitValidation, TakesATenthInIntegers) {
  const data::Dataset data = random_data(2000);
  const auto validation_split_of = [&](int64_t count, int64_t at_once) {
    data::Samples some = all_of(data);
    some.indices.resize(static_cast<size_t>(count));
    const data::ValidationSplit parts = data::split_validation(some, at_once, 1);
    EXPECT_EQ(parts.train.size() + parts.validation_split.size(), count);
    std::set<int64_t> together(parts.train.indices.begin(), parts.train.indices.end());
    together.insert(parts.validation_split.indices.begin(), parts.validation_split.indices.end());
    EXPECT_EQ(together.size(), static_cast<size_t>(count));
    return parts.validation_split.size();
  };
  EXPECT_EQ(validation_split_of(2000, 1), 200);
  EXPECT_EQ(validation_split_of(900, 1), 100);
  EXPECT_EQ(validation_split_of(200, 1), 50);
  EXPECT_EQ(validation_split_of(2, 1), 1);
  EXPECT_EQ(validation_split_of(2000, 16), 192);
  EXPECT_EQ(validation_split_of(32, 16), 16);
  EXPECT_EQ(test::diagnostic_of([&] { validation_split_of(31, 16); }),
            errors::too_few_samples_to_hold_out("random", 31, 32));
}

TEST(SplitValidation, DependsOnTheSeed) {
  const data::Dataset data = random_data(200);
  EXPECT_EQ(data::split_validation(all_of(data), 1, 1).validation_split.indices,
            data::split_validation(all_of(data), 1, 1).validation_split.indices);
  EXPECT_NE(data::split_validation(all_of(data), 1, 1).validation_split.indices,
            data::split_validation(all_of(data), 1, 2).validation_split.indices);
}

TEST(KeepsBest, EndsWithTheBestOfTheEpochs) {
  const data::Dataset data = random_data(256);
  const Model model = prepared_network(data, {2, 3, {}});
  ThreadPool pool(1);
  Fit fit(model, all_of(data), options_for(0.02, 6), pool);
  std::vector<std::string> notes;
  while (!fit.finished())
    fit.run_epoch([&](const Progress& progress) {
      if (progress.stage == "validation") notes.emplace_back(progress.note);
    });
  const TrainingHistory& history = fit.state().history;
  ASSERT_EQ(history.validation_results.size(), 7U);
  EXPECT_EQ(history.samples, 64);
  EXPECT_GT(history.best, 0);
  EXPECT_FALSE(history.ended_below());
  EXPECT_NE(digest(fit.result()), digest(model));
  EXPECT_LT(history.validation_results[static_cast<size_t>(history.best)].loss, history.validation_results[0].loss);
  ASSERT_EQ(notes.size(), 7U);
  EXPECT_EQ(notes[0], "at the start: " + text_of(history, history.validation_results[0]));
  EXPECT_EQ(notes[6], "after epoch 6: " + text_of(history, history.validation_results[6]));
}

/// A learning rate that ruins the network: the initial state is restored, and the run reports that training ended below
/// it.
TEST(KeepsBest, GivesBackWhatItWasGiven) {
  const data::Dataset data = random_data(256);
  const Model model = prepared_network(data, {8, 8, {}});
  ThreadPool pool(1);
  Fit fit(model, all_of(data), options_for(5.0), pool);
  while (!fit.finished()) fit.run_epoch();
  EXPECT_EQ(fit.state().history.best, 0);
  EXPECT_TRUE(fit.state().history.ended_below());
  EXPECT_EQ(digest(fit.result()), digest(model));
}

TEST(KeepsBest, AStateThatGainsNothingOnTheStartIsNotBest) {
  TrainingHistory history;
  EXPECT_FALSE(history.add({0.9, 1.0}));
  EXPECT_FALSE(history.add({0.89, 0.5}));
  EXPECT_FALSE(history.add({0.9, 0.78125}));
  EXPECT_TRUE(history.add({0.9, 0.71875}));
  EXPECT_TRUE(history.add({0.95, 0.5}));
  EXPECT_FALSE(history.add({1.0, 0.625}));
  EXPECT_FALSE(history.add({1.0, std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_EQ(history.best, 4);
  EXPECT_TRUE(history.ended_below());
}

TEST(KeepsBest, MoreRightNeedsALowerLossToo) {
  TrainingHistory history;
  EXPECT_FALSE(history.add({0.9, 1.0}));
  EXPECT_FALSE(history.add({0.91, 1.5}));
  EXPECT_TRUE(history.add({0.91, 0.96875}));
  EXPECT_EQ(history.best, 2);
}

TEST(KeepsBest, WithoutClassesTheLossDecides) {
  TrainingHistory history;
  EXPECT_FALSE(history.add({{}, 1.0}));
  EXPECT_TRUE(history.add({{}, 0.9375}));
  EXPECT_FALSE(history.add({{}, 1.0}));
  EXPECT_EQ(history.best, 1);
}

TEST(TrainingHistory, IsText) {
  TrainingHistory history{{17, true, {}, 0}};
  history.add({0.5, 0.25});
  history.add({{}, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(to_text(history),
            R"({"samples":17,"has_labels":true,"results":[{"loss":0.25,"accuracy":0.5},{"loss":null}],)"
            R"("best_epoch":0,"ended_below":true})");
}

/// The comparison is bit for bit, because the factor is a power of two. The loss and the last layer are both measured
/// in standard deviations of the output.
// A2.15
TEST(Spread, MakesAFactorOfTheLastLayerCountForNothing) {
  const data::Dataset data = random_data(256);
  ThreadPool pool(1);
  const auto history = [&](float factor) {
    const Model model = prepared_network(data, {4, 4, 4}, factor);
    Fit fit(model, all_of(data), options_for(0.02), pool);
    while (!fit.finished()) fit.run_epoch();
    return to_text(fit.state().history);
  };
  EXPECT_EQ(history(1), history(64));
  EXPECT_EQ(history(1), history(0.125F));
  EXPECT_NE(history(1), history(-1));
}

/// At a learning rate that would move every scale below zero.
// A2.10
TEST(LearnedScales, StayPositive) {
  const data::Dataset data = random_data(256);
  for (const char* platform : {"generic_int8", "pow2_int8"}) {
    Model model = quant::prepare(
        initialize(parse("graph g(x: f32[?, 8]) {\n  param @u: f32[16, 8]\n  param @w: f32[16, 16]\n  a = linear(x, "
                         "w=@u)\n  b = linear(a, w=@w)\n  return b\n}\n",
                         "g.ir"),
                   3),
        quant::load_platform(platform), {4, 4, 4});
    ThreadPool pool(1);
    calibrate(model, all_of(data), {.batch = 64, .batches = 1}, pool);
    FitOptions options = options_for(50.0);
    options.keep_best = false;
    Fit fit(model, all_of(data), options, pool);
    try {
      while (!fit.finished()) fit.run_epoch();
    } catch (const Error& error) {
      EXPECT_EQ(error.diagnostics().front().entry, &errors::training_diverged_entry) << error.what();
    }
    const Model learned = fit.result();
    int scales = 0;
    for (const auto& quantizer : model.graph.all<ops::FakeQuantize>()) {
      if (!quant::is_learned(quantizer)) continue;
      ++scales;
      for (const float scale : learned.tensors.at(passes::scale_tensor(quantizer).name()).data<float>())
        EXPECT_GT(scale, 0.0F) << quantizer.name();
    }
    EXPECT_GT(scales, 2);
  }
}

class InAFolder : public testing::Test {
 protected:
  RunOutcome train(const Model& model, const data::Dataset& data, const FitOptions& options, bool resume = false) {
    RunOptions run_options;
    run_options.fit = options;
    run_options.folder = folder_ / "run";
    run_options.resume = resume;
    ThreadPool pool(1);
    return run(model, all_of(data), run_options, pool);
  }

  std::filesystem::path operator/(const std::string& name) const { return folder_ / "run" / name; }

  test::TemporaryFolder folder_;
};

TEST_F(InAFolder, TheBestStateAndTheHistoryResume) {
  const data::Dataset data = random_data(256);
  const Model model = prepared_network(data);
  const FitOptions options = options_for(0.02);
  const RunOutcome whole = train(model, data, options);
  std::filesystem::remove(*this / "model.safetensors");
  for (const char* epoch : {"3", "4"})
    std::filesystem::remove(*this / (std::string("checkpoint_000") + epoch + ".safetensors"));
  const RunOutcome resumed = train(model, data, options, true);
  EXPECT_EQ(resumed.first_epoch, 2);
  EXPECT_EQ(digest(resumed.model), digest(whole.model));
  EXPECT_EQ(to_text(resumed.history), to_text(whole.history));
  const RunOutcome again = train(model, data, options, true);
  EXPECT_TRUE(again.was_finished);
  EXPECT_EQ(to_text(again.history), to_text(whole.history));
}

TEST_F(InAFolder, DataIsKnownByItsContent) {
  const data::Dataset data = random_data(256);
  const Model model = prepared_network(data);
  const FitOptions options = options_for(0.02, 1);
  train(model, data, options);
  data::Dataset renamed = data;
  renamed.name = "elsewhere";
  EXPECT_TRUE(train(model, renamed, options, true).was_finished);

  const data::Dataset other = random_data(256, 6);
  EXPECT_EQ(test::diagnostic_of([&] { train(model, other, options, true); }),
            errors::checkpoint_of_other_data((*this / "checkpoint_0001.safetensors").string(), "\"random\"",
                                             data::content_digest(all_of(data)), "\"random\"",
                                             data::content_digest(all_of(other))));
}

TEST_F(InAFolder, OtherSettingsAreNamedWhole) {
  const data::Dataset data = random_data(256);
  const Model model = prepared_network(data);
  FitOptions options = options_for(0.02, 1);
  train(model, data, options);
  options.learning_rate = 0.04;
  options.seed = 7;
  const std::string checkpoint = (*this / "checkpoint_0001.safetensors").string();
  EXPECT_EQ(
      test::diagnostic_of([&] { train(model, data, options, true); }),
      errors::checkpoint_of_other_options(checkpoint, "learning rate: 0.02, seed: 0", "learning rate: 0.04, seed: 7"));
  options = options_for(0.02, 1);
  Model changed = clone(model);
  changed.tensors.at("u").data<float>()[0] += 1.0F;
  EXPECT_EQ(test::diagnostic_of([&] { train(changed, data, options, true); }),
            errors::checkpoint_of_other_weights(checkpoint, digest_hex(model), digest_hex(changed)));
  const Model reversed = prepared_network(data, {4, 4, 4});
  EXPECT_EQ(test::name_of([&] { train(reversed, data, options, true); }), "checkpoint_of_another_network");
  std::filesystem::copy_file(*this / "model.safetensors", checkpoint,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(test::diagnostic_of([&] { train(model, data, options, true); }),
            errors::model_without_training_state(checkpoint));
}

TEST_F(InAFolder, OfAnEarlierRunIsNotOverwritten) {
  const data::Dataset data = random_data(256);
  const std::string folder = (folder_ / "run").string();
  EXPECT_EQ(test::diagnostic_of([&] { history_in(folder); }), errors::folder_without_checkpoint(folder));
  const Model model = prepared_network(data);
  train(model, data, options_for(0.02, 1));
  EXPECT_EQ(test::diagnostic_of([&] { require_free(folder); }),
            errors::run_folder_taken(folder, "checkpoint_0001.safetensors"));
  RunOptions resumed;
  resumed.resume = true;
  ThreadPool pool(1);
  EXPECT_EQ(test::diagnostic_of([&] { run(model, all_of(data), resumed, pool); }), errors::resume_without_folder());
}

// A2.13
TEST_F(InAFolder, WhatBecomesNoNumberKeepsTheBestState) {
  data::Dataset data = random_data(256);
  data.labels = Tensor(DType::i32, {256});
  data.classes = {"a", "b", "c", "d"};
  const Model model = float_network();
  const auto all = test::diagnostics_of([&] { train(model, data, options_for(1e38)); });
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].entry, &errors::training_diverged_entry);
  EXPECT_EQ(all[1], errors::best_state_kept((*this / "model.safetensors").string(), "the initial model"));
  EXPECT_EQ(digest(load_model(*this / "model.safetensors")), digest(model));
}

/// The best state is kept whatever stops the run: here a scale that no multiplier can express.
TEST_F(InAFolder, WhatCannotRunKeepsTheBestState) {
  const data::Dataset data = random_data(256);
  const Model model = prepared_network(data);
  const auto all = test::diagnostics_of([&] { train(model, data, options_for(1e38)); });
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back(), errors::best_state_kept((*this / "model.safetensors").string(), "the initial model"));
  EXPECT_EQ(digest(load_model(*this / "model.safetensors")), digest(model));
}

TEST_F(InAFolder, FilesOfOthersStay) {
  std::filesystem::create_directories(folder_ / "run");
  io::write_file(folder_ / "run/notes.tmp", "mine");
  const data::Dataset data = random_data(64);
  train(prepared_network(data), data, options_for(0.02, 1));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "run/notes.tmp"));
}

}  // namespace
}  // namespace halfstep::train
