// Runs that pause until later inputs arrive.
#include <gtest/gtest.h>

#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/runtime/errors.h"
#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

/// y is ready before g is fed. h reads values of both parts and an output of the first part.
constexpr const char* kTwoParts = R"(
graph parts(x: f32[64, 33], g: f32[64, 33]) {
  param @w: f32[33]
  a = add(a=x, b=@w)
  y = relu(x=a)
  e = exp(x=g)
  f = mul(a=e, b=a)
  h = mul(a=f, b=y)
  return y = y, h = h, g = g
})";

class Parts : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, Parts, testing::Values(1, 2, 8), testing::PrintToStringParamName());

TEST_P(Parts, GiveWhatOneRunGives) {
  const Model model = model_of(kTwoParts);
  const Tensors inputs = inputs_of(model);
  ThreadPool pool(GetParam());
  const Tensors expected = compile(model).run(inputs, pool);

  for (const bool optimize : {true, false}) {
    CompileOptions options;
    options.later = {"g"};
    options.optimize = optimize;
    runtime::Program program = compile(model, options);
    for (int round = 0; round < 20; ++round) {
      const Tensors first = program.run_part(0, {{"x", inputs.at("x")}}, pool);
      ASSERT_EQ(first.size(), 1);
      ASSERT_TRUE(first.at("y").same_bits(expected.at("y")));
      const Tensors second = program.run_part(1, {{"g", inputs.at("g")}}, pool);
      ASSERT_EQ(second.size(), 2);
      ASSERT_TRUE(second.at("h").same_bits(expected.at("h")));
      ASSERT_TRUE(second.at("g").same_bits(inputs.at("g")));
    }
    const Tensors whole = program.run(inputs, pool);
    for (const auto& [name, tensor] : expected) EXPECT_TRUE(whole.at(name).same_bits(tensor)) << name;
  }
}

TEST(PartsOfARun, TraceHasThemAll) {
  const Model model = model_of(kTwoParts);
  CompileOptions options;
  options.later = {"g"};
  runtime::Program program = compile(model, options);
  ThreadPool pool(2);
  runtime::Trace trace;
  for (int round = 0; round < 2; ++round) program.run(inputs_of(model), pool, &trace);
  ASSERT_EQ(trace.timings.size(), program.instructions().size());
  for (const auto& timing : trace.timings) EXPECT_GE(timing.end, timing.begin);
}

TEST(PartsOfARun, MistakesAreNamed) {
  const Model model = model_of(kTwoParts);
  CompileOptions options;
  options.later = {"h"};
  EXPECT_EQ(diagnostic_of([&] { compile(model, options); }), errors::argument_of_later_part_unknown("parts", "h", ""));
  options.later = {"g"};
  runtime::Program program = compile(model, options);
  ThreadPool pool(1);
  const Tensors inputs = inputs_of(model);
  EXPECT_EQ(diagnostic_of([&] { program.run_part(0, inputs, pool); }), errors::program_input_unknown("parts", "g", ""));
  EXPECT_EQ(name_of([&] { program.run_part(1, {}, pool); }), "program_input_unfit");
}

}  // namespace
}  // namespace halfstep
