// Refusals of evaluation, calibration and training.
#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/calibrate/hiding_masks.h"
#include "halfstep/train/evaluate/activations.h"
#include "halfstep/train/evaluate/errors.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/train/evaluate/metric_sums.h"
#include "halfstep/train/evaluate/teacher.h"
#include "halfstep/train/loop/errors.h"
#include "halfstep/train/loop/training_graph.h"
#include "tests/support/error.h"
#include "tests/train/three_layers.h"

namespace halfstep::train {
namespace {

using test::diagnostic_of;

Model network(const std::string& text) { return initialize(parse(text, "g.ir"), 1); }

TEST(Refusals, OfEvaluation) {
  const data::Dataset data = random_samples(false);
  ThreadPool pool(1);
  EXPECT_EQ(diagnostic_of([&] { scores(float_network(), all_of(data), {1}, pool); }),
            errors::samples_without_labels("random"));
  EXPECT_EQ(diagnostic_of([] { with_activations(float_network(), {"a"}); }),
            errors::activation_without_quantizer("g.ir:5: node 'a'"));
  EXPECT_EQ(diagnostic_of([] {
              float_outputs(network("graph g(x: f32[2, 4]) {\n  i = cast(x) {to: \"i64\"}\n  return i\n}\n"), {});
            }),
            errors::no_output_to_learn_from("g"));
  EXPECT_EQ(diagnostic_of([] { rows_of_logits(Tensor(DType::f32, {3}), 2); }),
            errors::output_without_row_for_each_label("[3]", 2));
}

TEST(Refusals, OfCalibration) {
  data::Dataset data = random_data(32);
  data::Samples none = all_of(data);
  none.indices.clear();
  ThreadPool pool(1);
  Model floats = float_network();
  EXPECT_EQ(diagnostic_of([&] { calibrate(floats, none, {}, pool); }), errors::network_not_prepared());
  Model model = quant::prepare(float_network(), quant::load_platform("generic_int8"));
  EXPECT_EQ(diagnostic_of([&] { calibrate(model, none, {}, pool); }), errors::calibration_samples_too_few(0, 1));
  for (float& value : data.x.data<float>()) value = NAN;
  EXPECT_EQ(diagnostic_of([&] { calibrate(model, all_of(data), {}, pool); }).entry,
            &errors::calibration_saw_no_number_entry);
}

/// (1 - mask) * -10000 subtracts 5,000 where a mask is a half.
TEST(Refusals, OfMasksThatHideAHalf) {
  Model model = network(
      "graph g(x: f32[?, 6], m: f32[?, 6]) {\n  const @one: f32[]\n  const @low: f32[]\n  param @w: f32[6, 6]\n"
      "  s = linear(x, w=@w)\n  i = sub(a=@one, b=m)\n  h = mul(i, b=@low)\n  d = add(a=s, b=h)\n"
      "  y = softmax(d) {axis: 1}\n  z = linear(y, w=@w)\n  return z\n}\n");
  model.tensors.at("one").data<float>()[0] = 1;
  model.tensors.at("low").data<float>()[0] = -10000;
  data::Dataset data;
  data.name = "given";
  data.inputs = {{"x", Tensor(DType::f32, {64, 6})}, {"m", Tensor(DType::f32, {64, 6})}};
  for (float& value : data.inputs.at("m").data<float>()) value = 0.5F;
  const Model prepared = quant::prepare(model, quant::load_platform("generic_int8"));
  const data::TrainTest parts = split(data);
  ThreadPool pool(1);
  const Diagnostic refused = diagnostic_of([&] { require_hiding_masks(prepared, parts.train, pool); });
  EXPECT_EQ(refused.entry, &errors::mask_hides_by_product_entry) << refused.message();
  EXPECT_EQ(refused.layer, "d");
}

TEST(Refusals, OfNewNetworks) {
  EXPECT_EQ(diagnostic_of([] {
              create_network("nowhere.ir", {1, 2, 2}, 2, 0);
            }),
            errors::network_file_unreadable("nowhere.ir"));
  EXPECT_EQ(diagnostic_of([] {
              create_network("digit", {1, 2, 2}, 2, 0);
            }),
            errors::network_unknown("digit", ", did you mean 'digits'?"));
  EXPECT_EQ(diagnostic_of([] { create_network("digits", {4}, 2, 0); }), errors::network_takes_images("digits", "[4]"));
}

TEST(Refusals, OfStepsThatNothingLearnsFrom) {
  Model flat = network("graph g(x: f32[4]) {\n  y = relu(x)\n  return y\n}\n");
  EXPECT_EQ(diagnostic_of([&] { add_loss(flat, Loss::labels, {}); }),
            errors::output_without_classes("g", "y", "f32[4]"));
  const Model hard = network(
      "graph g(x: f32[4, 8]) {\n  param @w: f32[3, 8]\n  a = linear(x, w=@w)\n  h = hardmax(a)\n  return h\n}\n");
  const Diagnostic refused = diagnostic_of([&] { training_graph(hard, {}, Loss::labels, {}, {}); });
  EXPECT_EQ(refused.entry, &errors::layer_not_trainable_entry) << refused.message();
  EXPECT_EQ(refused.layer, "h");
}

/// A branch behind an operator without a gradient does not keep the rest from training.
TEST(Refusals, OfABranchLeaveTheRestToTrain) {
  const Model model = network(
      "graph g(x: f32[4, 8]) {\n  param @v: f32[3, 8]\n  param @w: f32[3, 8]\n  a = linear(x, w=@v)\n"
      "  h = hardmax(a)\n  b = linear(x, w=@w)\n  y = add(a=b, b=h)\n  return y\n}\n");
  std::vector<std::string> notes;
  const Model step = training_graph(model, {}, Loss::labels, {}, {}, {}, &notes);
  ASSERT_EQ(notes.size(), 2);
  EXPECT_NE(notes[0].find("node 'h': hardmax has no gradient"), std::string::npos) << notes[0];
  EXPECT_EQ(notes[1], "no gradient reaches v: training leaves it as it is");
  EXPECT_TRUE(step.graph.tensor("w.velocity"));
  EXPECT_FALSE(step.graph.tensor("v.velocity"));
}

/// A parameter that the loss does not read, or only through an operand without a gradient.
TEST(Refusals, OfAParameterAloneLeaveTheRestToTrain) {
  const Model model = network(
      "graph g(x: f32[4, 8]) {\n  param @w: f32[3, 8]\n  param @low: f32[]\n  a = linear(x, w=@w)\n"
      "  y = clip(a, lowest=@low)\n  return y\n}\n");
  std::vector<std::string> notes;
  training_graph(model, {}, Loss::labels, {}, {}, {}, &notes);
  EXPECT_EQ(notes, std::vector<std::string>{"no gradient reaches low: training leaves it as it is"});
}

}  // namespace
}  // namespace halfstep::train
