// Options of a training recipe: schedules, soft labels, mixed samples, losses on activations, learning rates of scales,
// oscillating weights, and recomputed statistics.
#include "halfstep/train/loop/recipe.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "halfstep/core/base/limits.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/activations.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/fit.h"
#include "halfstep/train/loop/oscillation.h"
#include "halfstep/train/loop/renormalize.h"
#include "tests/support/error.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

TEST(Schedule, IsTextAndBack) {
  for (const char* text : {"cosine", "steps:0.5,0.75", "steps:0.25"})
    EXPECT_EQ(to_text(parse_rate_schedule(text)), text);
  EXPECT_EQ(to_text(parse_rate_schedule("steps")), "steps:0.5,0.75");
}

TEST(Schedule, RefusesWhatIsNone) {
  for (const char* text : {"", "linear", "steps:", "steps:0.5,", "steps:0.7,0.5", "steps:1", "steps:0", "steps:x"})
    EXPECT_THROW(parse_rate_schedule(text), Error) << text;
}

TEST(Schedule, StepsAreTenthsBehindTheRise) {
  const RateSchedule schedule = parse_rate_schedule("steps:0.5,0.75");
  EXPECT_DOUBLE_EQ(rate_at(schedule, 1.0, 0, 100, 10), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(schedule, 1.0, 49, 100, 10), 1.0);
  EXPECT_DOUBLE_EQ(rate_at(schedule, 1.0, 50, 100, 10), 0.1);
  EXPECT_DOUBLE_EQ(rate_at(schedule, 1.0, 99, 100, 10), 0.1 * 0.1);
  EXPECT_NEAR(rate_at({}, 1.0, 55, 100, 10), 0.5, 1e-12);
}

TEST(SoftTargets, AddUpToOne) {
  Tensor labels(DType::i32, {2});
  labels.data<int32_t>()[0] = 2;
  const Tensor targets = soft_targets(labels, 4, 0.2);
  const auto share = targets.data<float>();
  EXPECT_FLOAT_EQ(share[2], 0.85F);
  EXPECT_FLOAT_EQ(share[0], 0.05F);
  EXPECT_NEAR(std::accumulate(share.begin(), share.end(), 0.0), 2.0, 1e-6);
  labels.data<int32_t>()[1] = 4;
  EXPECT_THROW(soft_targets(labels, 4, 0.2), Error);
}

TEST(Mixture, HasTheMeanOfItsDistributionAndDependsOnSeedAndStep) {
  // The smaller of two beta(a, a) shares has the mean 1/2 - E|x - 1/2|. For a = 1, a uniform distribution, this is 1/4.
  double sum = 0;
  constexpr int kSteps = 4000;
  for (int step = 0; step < kSteps; ++step) sum += double{mixture_of(1.0, 4, 5, static_cast<uint64_t>(step)).share};
  EXPECT_NEAR(sum / kSteps, 0.25, 0.01);
  const Mixture one = mixture_of(0.2, 8, 1, 3), same = mixture_of(0.2, 8, 1, 3), other = mixture_of(0.2, 8, 2, 3);
  EXPECT_EQ(one.share, same.share);
  EXPECT_EQ(one.partner, same.partner);
  EXPECT_NE(one.share, other.share);
}

TEST(Mixture, MixesSamplesAndTheirLabelsAlike) {
  Tensor x(DType::f32, {2, 2});
  std::iota(x.data<float>().begin(), x.data<float>().end(), 0.0F);
  const Tensor y = mixed(x, {0.25F, {1, 1}});
  EXPECT_EQ(y.data<float>()[0], 0.5F);
  EXPECT_EQ(y.data<float>()[1], 1.5F);
  EXPECT_EQ(y.data<float>()[2], 2.0F);
}

TEST(Recipe, NamesAllThatIsOutOfRange) {
  Recipe recipe;
  recipe.label_smoothing = 2;
  recipe.scale_rate = 0;
  EXPECT_EQ(test::diagnostics_of([&] { recipe.check(); }),
            (std::vector<Diagnostic>{errors::number_out_of_range("label_smoothing", 2, limits::kShare.text()),
                                     errors::number_out_of_range("scale_rate", 0, limits::kScaleRate.text())}));
}

TEST(Recipe, FitsSamplesAndNetwork) {
  const data::Dataset labelled = random_samples(true), unlabelled = random_samples(false);
  ThreadPool pool(1);
  const auto refused = [&](const Model& model, const data::Samples& samples, const Recipe& recipe) {
    FitOptions options;
    options.recipe = recipe;
    return test::diagnostic_of([&] { Fit(model, samples, options, pool); });
  };
  const Model model = quant::prepare(float_network(), quant::load_platform("generic_int8"));
  Recipe smooth, mixes, freezes;
  smooth.label_smoothing = 0.1;
  mixes.mixup = 0.3;
  freezes.freeze_oscillating = 0.02;
  EXPECT_EQ(refused(model, all_of(unlabelled), smooth), errors::label_smoothing_without_labels());
  EXPECT_EQ(refused(float_network(), all_of(labelled), freezes),
            errors::oscillation_of_float_network(float_network().graph.name()));
  const Model words = initialize(parse("graph g(i: i64[?, 8]) {\n  param @w: f32[9, 4]\n  e = gather(x=@w, indices=i) "
                                       "{axis: 0}\n  m = reduce_mean(e) {axes: [1]}\n  return m\n}\n",
                                       "g.ir"),
                                 1);
  EXPECT_EQ(refused(words, all_of(labelled), mixes), errors::mixup_of_integers("i", "i64[?, 8]"));
  const Model vector = initialize(parse("graph g(x: f32[?, 8]) {\n  param @w: f32[8]\n  y = mul(x, b=@w)\n  z = "
                                        "reduce_mean(y) {axes: [0, 1], keep_dims: false}\n  return z\n}\n",
                                        "g.ir"),
                                  1);
  EXPECT_EQ(refused(vector, all_of(labelled), {}).entry, &errors::labels_without_output_entry);
  data::Samples none = all_of(labelled);
  none.indices.clear();
  EXPECT_EQ(refused(float_network(), none, {}), errors::training_samples_too_few(0, 1));
}

TEST(Recipe, SchedulesThatAreNone) {
  for (const char* text : {"linear", "steps:", "steps:0.5,0.5", "steps:2"})
    EXPECT_EQ(test::diagnostic_of([&] { parse_rate_schedule(text); }),
              errors::schedule_unknown("\"" + std::string(text) + "\""));
}

TEST(SoftTargets, LabelsAreClasses) {
  Tensor labels(DType::i32, {2});
  labels.data<int32_t>()[1] = 4;
  EXPECT_EQ(test::diagnostic_of([&] { soft_targets(labels, 4, 0.1); }), errors::label_out_of_classes(4, 1, 3));
}

Model prepared(const data::Samples& samples, ThreadPool& pool) {
  quant::Platform platform = quant::load_platform("generic_int8");
  Model model = quant::prepare(float_network(), platform, {2, 3, {}});
  calibrate(model, samples, {.batch = 96, .batches = 1}, pool);
  return model;
}

FitOptions options_with(const Recipe& recipe) {
  FitOptions options;
  options.epochs = 4;
  options.batch = 16;
  options.learning_rate = 0.05;
  options.recipe = recipe;
  return options;
}

std::string trained(const Model& model, const data::Samples& samples, const Recipe& recipe, int threads) {
  ThreadPool pool(threads);
  Fit fit(model, samples, options_with(recipe), pool);
  while (!fit.finished()) fit.run_epoch();
  return digest_hex(fit.renormalized().model);
}

Recipe everything() {
  Recipe recipe;
  recipe.schedule = parse_rate_schedule("steps");
  recipe.label_smoothing = 0.1;
  recipe.mixup = 0.3;
  recipe.scale_rate = 0.5;
  recipe.freeze_oscillating = 0.02;
  recipe.distill_activations = {"a"};
  recipe.renormalize = 2;
  return recipe;
}

TEST(Recipe, EveryPartChangesWhatIsLearned) {
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  const Model model = prepared(all_of(data), pool);
  const std::string plain = trained(model, all_of(data), {}, 1);
  EXPECT_EQ(trained(model, all_of(data), {}, 2), plain);
  for (const int part : {0, 1, 2, 3, 4, 5}) {
    Recipe recipe;
    const Recipe all = everything();
    if (part == 0) recipe.schedule = all.schedule;
    if (part == 1) recipe.label_smoothing = all.label_smoothing;
    if (part == 2) recipe.mixup = all.mixup;
    if (part == 3) recipe.scale_rate = all.scale_rate;
    if (part == 4) recipe.freeze_oscillating = 1e-3;
    if (part == 5) recipe.distill_activations = all.distill_activations;
    EXPECT_NE(trained(model, all_of(data), recipe, 1), plain) << part;
  }
}

TEST(Recipe, GoesOnWithTheSameBitsOnAnyNumberOfThreads) {
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  const Model model = prepared(all_of(data), pool);
  const Recipe recipe = everything();
  const std::string straight = trained(model, all_of(data), recipe, 2);
  EXPECT_EQ(trained(model, all_of(data), recipe, 1), straight);
  Fit first(model, all_of(data), options_with(recipe), pool);
  first.run_epoch();
  first.run_epoch();
  Fit second(model, all_of(data), options_with(recipe), pool, first.state());
  while (!second.finished()) second.run_epoch();
  EXPECT_EQ(digest_hex(second.renormalized().model), straight);
}

TEST(Activations, AreWhatTheQuantizerBehindALayerGives) {
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  const Model model = prepared(all_of(data), pool);
  const Wide wide = with_activations(model, {"a", "r"});  // one quantizer follows both
  ASSERT_EQ(wide.model.graph.outputs().size(), model.graph.outputs().size() + 1);
  EXPECT_TRUE(wide.model.graph.outputs().back().producer().is<ops::FakeQuantize>());
  EXPECT_EQ(wide.activations, std::set<std::string>{wide.model.graph.body().output_names().back()});
  EXPECT_EQ(test::name_of([&] { with_activations(model, {"nothing"}); }), "selector_matches_nothing");
}

/// An output of the network may be selected too. It counts once if the network learns from its float form anyway.
TEST(Activations, MayBeAnOutput) {
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  const Model model = prepared(all_of(data), pool);
  const Wide wide = with_activations(model, {"c"});
  EXPECT_EQ(wide.model.graph.outputs().size(), model.graph.outputs().size());
  const std::string output = model.graph.body().output_names().front();
  EXPECT_EQ(wide.activations, std::set<std::string>{output});
  EXPECT_EQ(distillation_targets({{output, 2.0F}}, wide, model, false).activations, (Spreads{{output, 2.0F}}));
  EXPECT_EQ(distillation_targets({{output, 2.0F}}, wide, model, true).outputs, (Spreads{{output, 2.0F}}));
  EXPECT_EQ(distillation_targets({{output, 2.0F}}, wide, model, true).activations, Spreads{});
  Recipe recipe;
  recipe.distill_activations = {"c"};
  EXPECT_NE(trained(model, all_of(data), recipe, 1), trained(model, all_of(data), {}, 1));
}

TEST(Oscillations, FreezeWhatGoesBackAndForth) {
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  const Model model = prepared(all_of(data), pool);
  CompileOptions options;
  options.freeze_tensors = false;
  runtime::Program program = compile(specialize(model, {{"x", {96, 8}}}), options);
  Oscillations oscillations(model, 0.05);
  const Tensor start = program.tensor("w");
  // Element 0 goes up and down by two steps, element 1 always goes up. A share of 1 - 0.99^6 is the first above 0.05.
  for (int step = 0; step <= 7; ++step) {
    EXPECT_EQ(oscillations.frozen(), 0) << step;
    Tensor w = start.clone();
    w.data<float>()[0] = step % 2 == 0 ? -1e3F : 1e3F;
    w.data<float>()[1] = step < 4 ? -1e3F : 1e3F;
    program.set_tensor("w", w);
    oscillations.after_step(program);
  }
  EXPECT_EQ(oscillations.frozen(), 1);
  const float held = program.tensor("w").data<float>()[0];
  program.set_tensor("w", start);
  oscillations.after_step(program);
  EXPECT_EQ(program.tensor("w").data<float>()[0], held);
  EXPECT_EQ(program.tensor("w").data<float>()[2], start.data<float>()[2]);
}

Model norm_of_samples() {
  return initialize(parse("graph g(x: f32[?, 8]) {\n  param @s: f32[8]\n  param @b: f32[8]\n  state @m: f32[8]\n"
                          "  state @v: f32[8]\n  y = batch_norm(x=x, scale=@s, bias=@b, mean=@m, variance=@v)\n"
                          "  return y\n}\n",
                          "g.ir"),
                    3);
}

TEST(Renormalize, GivesTheStatisticsOfTheSamples) {
  Model model = norm_of_samples();
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  EXPECT_EQ(renormalize(model, all_of(data), {96, 5, all_of(data).indices, {}}, pool), 1);
  for (size_t c = 0; c < 8; ++c) {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < 96; ++i) sum += double{data.x.data<float>()[i * 8 + c]};
    for (size_t i = 0; i < 96; ++i) squares += std::pow(double{data.x.data<float>()[i * 8 + c]} - sum / 96, 2);
    EXPECT_NEAR(model.tensors.at("m").data<float>()[c], sum / 96, 1e-6);
    EXPECT_NEAR(model.tensors.at("v").data<float>()[c], squares / 95, 1e-6);
  }
  Model without = float_network();
  EXPECT_EQ(renormalize(without, all_of(data), {96, 5, all_of(data).indices, {}}, pool), 0);
}

/// Samples of a folder are sorted by class: their first batches contain a single class.
TEST(Renormalize, SeesSamplesInTheOrderOfTraining) {
  data::Dataset data = random_samples(true);
  for (int64_t i = 0; i < 96 * 8; ++i) data.x.data<float>()[static_cast<size_t>(i)] += i < 48 * 8 ? -10.0F : 10.0F;
  const Model model = norm_of_samples();
  ThreadPool pool(1);
  Recipe recipe;
  recipe.renormalize = 3;
  FitOptions options = options_with(recipe);
  options.learning_rate = 1e-6;
  Fit fit(model, all_of(data), options, pool);
  while (!fit.finished()) fit.run_epoch();
  const Model after = fit.renormalized().model;
  for (const float mean : after.tensors.at("m").data<float>()) EXPECT_LT(std::abs(mean), 6.0F);
  for (const float variance : after.tensors.at("v").data<float>()) EXPECT_GT(variance, 40.0F);
}

}  // namespace
}  // namespace halfstep::train
