#include "halfstep/train/loop/step_times.h"

#include <gtest/gtest.h>

#include "halfstep/core/ir/text/parse.h"
#include "halfstep/engine/compile/compile.h"

namespace halfstep::train {
namespace {

runtime::Program two_operators() {
  Model model;
  model.graph = parse(R"(graph two(x: f32[2]) {
    a = relu(x)
    b = exp(x)
    return a, b
  })");
  return compile(model, {});
}

TEST(StepTimes, TheMedianIsOneOfThem) {
  StepTimes times;
  EXPECT_EQ(times.median(), 0.0);
  for (const double milliseconds : {90.0, 2.0, 1.0}) times.add(milliseconds);
  EXPECT_EQ(times.median(), 2.0);
  EXPECT_TRUE(times.operators().empty());
}

/// Two steps. In the first, relu runs alone for 1 ms and beside exp for 2. In the second, exp runs alone for 4.
TEST(StepTimes, InstructionsAtTheSameMomentShareIt) {
  const runtime::Program program = two_operators();
  ASSERT_EQ(program.instructions().size(), 2U);
  const bool relu_first = program.instructions()[0].op == "relu";
  const auto trace = [&](runtime::Trace::Timing relu, runtime::Trace::Timing exp) {
    runtime::Trace made;
    made.timings = relu_first ? std::vector{relu, exp} : std::vector{exp, relu};
    return made;
  };
  StepTimes times;
  times.add(program, trace({0, 3'000'000, 0}, {1'000'000, 3'000'000, 1}));
  times.add(program, trace({0, 0, 0}, {5'000'000, 9'000'000, 0}));
  const auto operators = times.operators();
  ASSERT_EQ(operators.size(), 2U);
  EXPECT_EQ(operators[0].op, "exp");
  EXPECT_DOUBLE_EQ(operators[0].milliseconds, 2.5);
  EXPECT_EQ(operators[1].op, "relu");
  EXPECT_DOUBLE_EQ(operators[1].milliseconds, 1.0);
  EXPECT_EQ(operators[1].calls, 1.0);
}

}  // namespace
}  // namespace halfstep::train
