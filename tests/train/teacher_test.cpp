// A network that learns from a teacher, with and without labels.
#include "halfstep/train/evaluate/teacher.h"

#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/pipeline/preprocess.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/fit.h"
#include "tests/support/error.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

/// One layer more than the student. Its input has the name of the student's first result, and its output has another
/// name too.
Model teacher(uint64_t seed = 11) {
  return initialize(
      parse("graph wise(a: f32[?, 8]) {\n  param @u: f32[32, 8]\n  param @w: f32[4, 32]\n  x = linear(x=a, w=@u)\n"
            "  r = relu(x)\n  answer = linear(x=r, w=@w)\n  return answer\n}\n",
            "wise.ir"),
      seed);
}

FitOptions options_with(std::vector<Model> teachers) {
  FitOptions options;
  options.epochs = 30;
  options.batch = 16;
  options.learning_rate = 0.05;
  options.teachers = std::move(teachers);
  return options;
}

Model trained(const Model& model, const data::Samples& samples, const FitOptions& options) {
  ThreadPool pool(1);
  Fit fit(model, samples, options, pool);
  while (!fit.finished()) fit.run_epoch();
  return fit.result();
}

/// Root mean square difference between the outputs of two networks.
double distance(const Model& model, const Model& teacher, const data::Samples& samples) {
  ThreadPool pool(1);
  const Tensor x = samples.inputs(0, samples.size()).at("x");
  const auto output = [&](const Model& of) {
    BatchRunner runner(evaluation_form(of), {}, pool);
    return runner.run({{of.graph.arguments()[0].name(), x}}).begin()->second;
  };
  const Tensor a = output(model), b = output(teacher);
  double sum = 0;
  for (size_t i = 0; i < a.data<float>().size(); ++i)
    sum += std::pow(double{a.data<float>()[i]} - double{b.data<float>()[i]}, 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

Model prepared(const data::Samples& samples) {
  ThreadPool pool(1);
  Model model = quant::prepare(float_network(), quant::load_platform("generic_int8"), {4, 4, {}});
  calibrate(model, samples, {.batch = 96, .batches = 1}, pool);
  return model;
}

/// Rows of two numbers in turn, whatever the samples are.
// A2.14
TEST(Spreads, AreTheDeviationOfOutputsAndNeverNothing) {
  const data::Dataset data = random_samples(false);
  const auto spread = [&](float even, float odd) {
    const Answers answers = [&](const Tensors&) {
      Tensor out(DType::f32, {16, 4});
      for (size_t i = 0; i < 64; ++i) out.data<float>()[i] = i / 4 % 2 == 0 ? even : odd;
      return Tensors{{"c", out}};
    };
    return spreads_of(float_network(), answers, all_of(data), 16, 0).at("c");
  };
  EXPECT_FLOAT_EQ(spread(1.0F, 3.0F), 1.0F);
  EXPECT_FLOAT_EQ(spread(500.0F, 500.0F), 0.5F);  // a thousandth of the root mean square
  EXPECT_EQ(spread(0.0F, 0.0F), 1.0F);
}

TEST(Teacher, IsLearnedFromWithoutLabels) {
  const data::Dataset data = random_samples(false);
  for (const Model& start : {float_network(), prepared(all_of(data))}) {
    const double before = distance(start, teacher(), all_of(data));
    EXPECT_LT(distance(trained(start, all_of(data), options_with({teacher()})), teacher(), all_of(data)), 0.5 * before);
  }
}

TEST(Teacher, CountsBesideLabelsAndInTheirPlace) {
  const data::Dataset data = random_samples(true);
  const data::Samples all = all_of(data);
  const Model start = prepared(all);
  FitOptions alone = options_with({teacher()});
  alone.distill = true;
  const double by_labels = distance(trained(start, all, options_with({})), teacher(), all);
  const double by_both = distance(trained(start, all, options_with({teacher()})), teacher(), all);
  EXPECT_LT(by_both, 0.8 * by_labels);
  EXPECT_LT(distance(trained(start, all, alone), teacher(), all), by_both);
  FitOptions weighty = options_with({teacher()});
  weighty.recipe.teacher_weight = 9;
  EXPECT_LT(distance(trained(start, all, weighty), teacher(), all), by_both);
  const data::Dataset bare = random_samples(false);
  EXPECT_EQ(digest_hex(trained(start, all, alone)),
            digest_hex(trained(start, all_of(bare), options_with({teacher()}))));
}

TEST(Teacher, MayBeTheMeanOfSeveral) {
  const data::Dataset data = random_samples(true);
  const data::Samples all = all_of(data);
  ThreadPool pool(1);
  Teachers teachers;
  const auto add = [&](const Model& model) {
    teachers.others.emplace_back(as_teacher(model, float_network(), all.extents(96)), std::vector<std::string>(), pool);
  };
  add(teacher());
  const Tensors inputs = all.inputs(0, 96);
  const Tensor first = teachers.outputs(inputs).at("c");
  add(teacher(12));
  const Tensor mean = teachers.outputs(inputs).at("c");
  const Tensor second = teachers.others[1].run(inputs).at("c");
  for (size_t i = 0; i < mean.data<float>().size(); ++i) {
    const double sum = double{first.data<float>()[i]} + double{second.data<float>()[i]};
    EXPECT_EQ(mean.data<float>()[i], static_cast<float>(sum / 2));
  }
  const Model start = prepared(all);
  const std::string by_one = digest_hex(trained(start, all, options_with({teacher()})));
  EXPECT_EQ(digest_hex(trained(start, all, options_with({teacher(), teacher()}))), by_one);
  EXPECT_NE(digest_hex(trained(start, all, options_with({teacher(), teacher(12)}))), by_one);
}

TEST(Teacher, GoesTogetherWithActivationsOfTheFloatForm) {
  const data::Dataset data = random_samples(true);
  const data::Samples all = all_of(data);
  const Model start = prepared(all);
  FitOptions activations = options_with({});
  activations.recipe.distill_activations = {"a"};
  FitOptions both = options_with({teacher()});
  both.recipe.distill_activations = {"a"};
  const std::string of_both = digest_hex(trained(start, all, both));
  EXPECT_NE(of_both, digest_hex(trained(start, all, activations)));
  EXPECT_NE(of_both, digest_hex(trained(start, all, options_with({teacher()}))));
  ThreadPool pool(2);
  Fit first(start, all, both, pool);
  for (int epoch = 0; epoch < 3; ++epoch) first.run_epoch();
  Fit second(start, all, both, pool, first.state());
  while (!second.finished()) second.run_epoch();
  EXPECT_EQ(digest_hex(second.result()), of_both) << "gone on with, on two threads";
  EXPECT_EQ(training_step(start, all, both).graph.arguments().size(),
            training_step(start, all, activations).graph.arguments().size() + 1);
}

TEST(Teacher, WeighsNothingAlone) {
  const data::Dataset data = random_samples(true);
  ThreadPool pool(1);
  FitOptions options = options_with({});
  options.recipe.teacher_weight = 2;
  const auto refused = [&] { return test::diagnostic_of([&] { Fit(float_network(), all_of(data), options, pool); }); };
  EXPECT_EQ(refused(), errors::teacher_weight_without_both(2, "teacher"));
  options.teachers = {teacher()};
  options.distill = true;
  EXPECT_EQ(refused(), errors::teacher_weight_without_both(2, "labels to learn from"));
}

TEST(Teacher, NamesAllThatSetsItApart) {
  const auto refused = [](const Model& teacher) {
    return test::diagnostic_of([&] { as_teacher(teacher, float_network(), {{"x", {16, 8}}}); });
  };
  EXPECT_EQ(refused(initialize(parse("graph other(y: f32[?, 6]) {\n  return y\n}\n", "other.ir"), 1)),
            errors::teacher_type_differs("other", "input", "y", "f32[?, 6]", "f32[16, 8]", "x"));
  EXPECT_EQ(refused(initialize(parse("graph other(y: f32[?, 8]) {\n  return y\n}\n", "other.ir"), 1)),
            errors::teacher_type_differs("other", "output", "y", "f32[16, 8]", "f32[16, 4]", "c"));
  EXPECT_EQ(refused(initialize(parse("graph other(y: f32[?, 8], z: f32[?]) {\n  return y\n}\n", "other.ir"), 1)),
            errors::teacher_arguments_miscounted("other", "input", 2, 1));
  Model halved = teacher();
  data::Preprocess preprocess;
  preprocess.scale = 0.5F;
  data::set_preprocess(halved, preprocess);
  EXPECT_EQ(refused(halved),
            errors::teacher_preprocesses_otherwise("wise", to_text(preprocess), to_text(data::Preprocess())));
  EXPECT_EQ(as_teacher(teacher(), float_network(), {{"x", {16, 8}}}).graph.arguments()[0].name(), "x");
}

}  // namespace
}  // namespace halfstep::train
