// State pairs: updated in place. Readers of the old contents still see them, and other instructions finish after an
// error.
#include <gtest/gtest.h>

#include "halfstep/engine/compile/describe.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/passes/graph/errors.h"
#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

TEST(State, IsUpdatedInPlace) {
  const Model model = model_of(R"(
graph step(grad: f32[4], rate: f32[1]) {
  param @w: f32[4]
  state @v: f32[4]
  before = relu(x=@w)
  w.step = sgd_momentum(param=@w, grad=grad, velocity=@v, learning_rate=rate) {momentum: 0.5}
  return before, w.step
})");
  for (const Place place : {kCpu, kSim}) {
    CompileOptions options;
    options.place = place;
    auto program = compile(model, options);
    ThreadPool pool(2);
    auto inputs = inputs_of(model);
    inputs.at("rate") = Tensor::scalar(0.5f);
    for (int step = 0; step < 3; ++step) {
      const Tensor w = program.tensor("w"), v = program.tensor("v");
      const auto outputs = program.run(inputs, pool);
      EXPECT_TRUE(program.tensor("w").same_bits(outputs.at("w.step")));
      for (size_t i = 0; i < 4; ++i) {
        const float velocity = 0.5f * v.data<float>()[i] + inputs.at("grad").data<float>()[i];
        EXPECT_EQ(program.tensor("v").data<float>()[i], velocity);
        EXPECT_EQ(program.tensor("w").data<float>()[i], w.data<float>()[i] - 0.5f * velocity);
        EXPECT_EQ(outputs.at("before").data<float>()[i], std::max(w.data<float>()[i], 0.0f));
      }
    }
  }
}

TEST(State, LaterReadersOfTheOldContentsGetACopy) {
  const Model model = model_of(R"(
graph step(x: f32[4], scale: f32[1]) {
  state @s: f32[1]
  state @a: f32[1]
  state @t: f32[1]
  q = fake_quantize_dequantize_moving_average_abs_max(x=x, in_scale=@s, in_accum=@a, in_state=@t)
  late = add(a=@s, b=scale)
  change = add(a=late, b=q.out_scale)
  return change, old = @s, new = q.out_scale, late
})");
  for (const Place place : {kCpu, kSim}) {
    CompileOptions options;
    options.place = place;
    auto program = compile(model, options);
    if (place == kCpu) {
      EXPECT_EQ(listing(program),
                "copy s:old, fake_quantize_dequantize_moving_average_abs_max q, add late, add change");
      EXPECT_NE(describe_dependencies(program.spec()).find("1  q: overwrites after 0\n"), std::string::npos)
          << describe_dependencies(program.spec());
    }
    ThreadPool pool(2);
    auto inputs = inputs_of(model);
    inputs.at("scale") = Tensor::scalar(0.25f);
    for (int step = 0; step < 3; ++step) {
      const Tensor before = program.tensor("s");
      const auto outputs = program.run(inputs, pool);
      EXPECT_TRUE(outputs.at("old").same_bits(before));
      EXPECT_TRUE(outputs.at("new").same_bits(program.tensor("s")));
      EXPECT_EQ(outputs.at("late").data<float>()[0], before.data<float>()[0] + 0.25f);
      EXPECT_EQ(outputs.at("change").data<float>()[0],
                before.data<float>()[0] + 0.25f + program.tensor("s").data<float>()[0]);
    }
  }
}

TEST(State, AnOperandThatIsItsOwnStateIsCopied) {
  const Model model = model_of(R"(
graph step(rate: f32[1]) {
  param @w: f32[4]
  state @v: f32[4]
  w.step = sgd_momentum(param=@w, grad=@w, velocity=@v, learning_rate=rate) {momentum: 0.0}
  return w.step
})");
  auto program = compile(model, {});
  EXPECT_EQ(listing(program), "copy w:old, sgd_momentum w.step");
  ThreadPool pool(1);
  const Tensor w = program.tensor("w");
  program.run({{"rate", Tensor::scalar(0.5f)}}, pool);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(program.tensor("w").data<float>()[i], w.data<float>()[i] - 0.5f * w.data<float>()[i]);
}

TEST(State, HasOneUpdate) {
  const Model model = model_of(R"(graph step(rate: f32[1], g: f32[4]) {
  param @w: f32[4]
  state @v: f32[4]
  state @u: f32[4]
  one = sgd_momentum(param=@w, grad=g, velocity=@v, learning_rate=rate)
  two = sgd_momentum(param=@w, grad=g, velocity=@u, learning_rate=rate)
  return one, two
})");
  EXPECT_EQ(diagnostic_of([&] { compile(model, {}); }),
            errors::tensor_updated_twice("test.ir:6: node 'two'", "w", "one", "two"));
}

TEST(State, OfAnArgumentIsAnOrdinaryResult) {
  const Model model = model_of(R"(
graph step(w: f32[4], v: f32[4], rate: f32[1], g: f32[4]) {
  s = sgd_momentum(param=w, grad=g, velocity=v, learning_rate=rate)
  return s, w
})");
  ThreadPool pool(1);
  const auto inputs = inputs_of(model);
  const Tensor w = inputs.at("w").clone();
  const auto outputs = compile(model, {}).run(inputs, pool);
  EXPECT_TRUE(outputs.at("w").same_bits(w));
  EXPECT_FALSE(outputs.at("s").same_bits(w));
}

constexpr const char* kLoss = R"(graph net(x: f32[2, 3], labels: i32[2], more: i32[2], g: f32[4], rate: f32[1]) {
  param @w: f32[4]
  state @v: f32[4]
  fc = relu(x=x)
  loss = softmax_cross_entropy(logits=fc, labels=labels)
  twice = add(a=loss, b=loss)
  second = softmax_cross_entropy(logits=x, labels=more)
  w.step = sgd_momentum(param=@w, grad=g, velocity=@v, learning_rate=rate)
  return twice, second, w.step
})";

TEST(State, AFailedKernelIsReportedWhileIndependentWorkFinishes) {
  const Model model = model_of(kLoss);
  for (const Place place : {kCpu, kSim}) {
    Diagnostic first;
    for (const int threads : {1, 2, 4, 2, 4}) {
      CompileOptions options;
      options.place = place;
      auto program = compile(model, options);
      ThreadPool pool(threads);
      auto inputs = inputs_of(model);
      inputs.at("labels") = Tensor::of<int32_t>(DType::i32, {2}, std::vector<int32_t>{0, 3});
      inputs.at("more") = Tensor::of<int32_t>(DType::i32, {2}, std::vector<int32_t>{-1, 0});
      const Tensor w = program.tensor("w");
      const Diagnostic error = diagnostic_of([&] { program.run(inputs, pool); });
      EXPECT_FALSE(program.tensor("w").same_bits(w));
      EXPECT_EQ(error.entry, &errors::operand_index_out_of_range_entry);
      EXPECT_EQ(error.found, "3");
      const std::string& where = error.where;
      EXPECT_TRUE(where.starts_with("test.ir:5: node 'loss': softmax_cross_entropy (")) << where;
      EXPECT_TRUE(where.ends_with(": label of sample 1")) << where;
      for (const std::string& part :
           {fmt::format("on {}; logits = 'fc' f32[2, 3] on {}, 24 bytes at ", to_string(place), to_string(place)),
            std::string("; labels = 'labels"), std::string("; 1 instruction failed after it; ")})
        EXPECT_NE(where.find(part), std::string::npos) << where;
      EXPECT_EQ(error, first.entry == nullptr ? error : first);
      first = error;
      inputs.at("labels") = inputs.at("more") = Tensor(DType::i32, {2});
      EXPECT_EQ(program.run(inputs, pool).size(), 3U);
    }
  }
}

}  // namespace
}  // namespace halfstep
