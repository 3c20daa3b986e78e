#include "halfstep/engine/capture/function.h"

#include <gtest/gtest.h>

#include <thread>

#include "halfstep/engine/capture/captured.h"
#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tape.h"
#include "tests/capture/captured.h"
#include "tests/support/error.h"

namespace halfstep::capture {
namespace {

using halfstep::test::diagnostic_of;
using test::array;
using test::expect_same;
using test::parameter;
using test::values;

Array sum(const Array& x) { return apply("reduce_sum", {x}, {{"axes", std::vector<int64_t>{0}}}); }

TEST(Function, GivesWhatItGaveStepByStep) {
  int runs = 0;
  Function function([&](const Arrays& x) -> Arrays {
    ++runs;
    return {apply("tanh", {apply("mul", {x[0], x[1]})}), sum(x[0])};
  });
  const Arrays a = {array({0.3F, -2}), array({5, 0.7F})}, b = {array({1, 2}), array({0.1F, -0.2F})};
  const Arrays first = function(a), expected = {apply("tanh", {apply("mul", {b[0], b[1]})}), sum(b[0])};
  runs = 0;
  expect_same(function(a), first);
  expect_same(function(b), expected);
  EXPECT_EQ(runs, 0) << "its programs ran";
}

TEST(Function, IsCapturedAgainForCallsOfAnotherKind) {
  Function function([](const Arrays& x) -> Arrays { return {apply("add", {x[0], x[1]})}; });
  const Array a = array({1, 2}), b = array({3, 4});
  function({a, b});
  function({b, a});
  EXPECT_TRUE(function.why_recaptured().empty());
  function({a, a});
  function({array({1}), array({2})});
  function({parameter({1, 2}), b});
  Switches training = switches();
  training.training = true;
  const Switched in_training(training);
  function({a, b});
  EXPECT_EQ(function.why_recaptured(),
            (std::vector<std::string>{"array 1: found the same array as another argument, expected a separate array",
                                      "array 0: found f32[1], expected f32[2]",
                                      "array 0: found f32[2], differentiable, with its gradient, expected f32[1]",
                                      "training mode: found true, expected false"}));
  EXPECT_EQ(function.programs().size(), 5U);
}

TEST(Function, RefusesArraysOfOtherThreads) {
  const auto elsewhere = [](const Array& x) {
    Array computed;
    std::thread([&] { computed = apply("tanh", {x}); }).join();
    return computed;
  };
  Function given([&](const Arrays& x) -> Arrays { return {elsewhere(x[0])}; });
  Function read([&](const Arrays& x) -> Arrays { return {apply("add", {x[0], elsewhere(x[0])})}; });
  for (Function* function : {&given, &read}) {
    EXPECT_EQ(diagnostic_of([&] {
                (*function)({array({1, 2})});
              }),
              errors::array_computed_elsewhere("captured function 'function'"));
    EXPECT_TRUE(function->programs().empty());
  }
}

TEST(Function, TakesOtherExtentsWhereTheyAreOpen) {
  const Array weight = parameter({0.5F, -1, 2, 0.25F}, {2, 2});
  int runs = 0;
  const auto body = [&](const Arrays& x) -> Arrays {
    ++runs;
    const Array y = apply("matmul", {x[0], weight});
    return {item(apply("greater", {apply("reduce_sum", {y}, {{"axes", std::vector<int64_t>{0, 1}}}),
                                   full({DType::f32, {}}, 0)})) != 0
                ? apply("tanh", {y})
                : apply("neg", {y})};
  };
  const Arrays inputs[] = {
      {array({1, 2}, {1, 2})}, {array({1, 2, 3, 4}, {2, 2})}, {array({3, -1, 1, 1, 2, 2}, {3, 2})}};
  for (const bool open : {false, true}) {
    Function function(body, {.dynamic_dims = open});
    runs = 0;
    for (const Arrays& x : inputs) (void)function(x);
    EXPECT_EQ(runs, open ? 1 : 3);
    EXPECT_EQ(function.why_recaptured().size(), open ? 0U : 2U);
    for (const Arrays& x : inputs) {
      const auto gradient = [&](const Arrays& results) {
        weight.cell()->gradient = {};
        backward(apply("reduce_sum", {results[0]}, {{"axes", std::vector<int64_t>{0, 1}}}));
        return Arrays{results[0], weight.gradient()};
      };
      const Arrays expected = gradient(body(x));
      expect_same(gradient(function(x)), expected);
    }
    EXPECT_ANY_THROW(function({array({1, 2, 3}, {1, 3})}));
  }
}

TEST(Function, GoesOnByWhatADecisionComesTo) {
  int runs = 0;
  Function function([&](const Arrays& x) -> Arrays {
    ++runs;
    const Array doubled = apply("add", {x[0], x[0]});
    if (item(apply("greater", {sum(x[0]), full({DType::f32, {}}, 0)})) != 0) return {apply("mul", {doubled, x[0]})};
    return {apply("neg", {doubled}), sum(doubled)};
  });
  const Arrays positive = {array({1, 2})}, negative = {array({-1, -2})};
  const Arrays first = function(positive), second = function(negative);
  EXPECT_EQ(runs, 2);
  expect_same(function(positive), first);
  expect_same(function(negative), second);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(values(second[0]), (std::vector<float>{2, 4}));
  EXPECT_EQ(function.programs().size(), 1U);
}

TEST(Function, ReadsAndWritesArraysOutsideOfItself) {
  Array state = array({1, 1});
  const Array factor = array({2, 3});
  Function function([&](const Arrays& x) -> Arrays {
    state.assign(apply("add", {apply("mul", {state, factor}), x[0]}));
    return {apply("neg", {state})};
  });
  for (int call = 0; call < 3; ++call) {
    const Arrays given = function({array({1, 0})});
    EXPECT_EQ(values(given[0])[0], -values(state)[0]);
  }
  EXPECT_EQ(values(state), (std::vector<float>{15, 27}));
}

TEST(Function, HasTheGradientsOfItsSteps) {
  Array weight = parameter({0.5F, -1.25F});
  const auto body = [&](const Arrays& x) -> Arrays {
    return {apply("mul", {apply("tanh", {apply("mul", {x[0], weight})}), weight})};
  };
  Function function(body);
  const auto gradient = [&](const std::function<Arrays(const Arrays&)>& run) {
    weight.set_gradient({});
    const Array x = array({0.7F, 3});
    const Array loss = apply("add", {sum(run({x})[0]), apply("mul", {sum(run({x})[0]), sum(weight)})});
    backward(loss);
    return Arrays{loss, weight.gradient()};
  };
  const Arrays expected = gradient(body);
  expect_same(gradient([&](const Arrays& x) { return function(x); }), expected);
  expect_same(gradient([&](const Arrays& x) { return function(x); }), expected);
  EXPECT_TRUE(function.why_recaptured().empty());
}

TEST(Function, TakesWholeStepsWithTheirGradients) {
  const auto train = [](bool captures) {
    Array weight = parameter({0.5F, -1.25F});
    Function step([&](const Arrays& x) -> Arrays {
      const Array loss = sum(apply("mul", {apply("tanh", {apply("mul", {x[0], weight})}), weight}));
      backward(loss);
      const Switched without(without_gradients());
      weight.assign(apply("sub", {weight, apply("mul", {weight.gradient(), full({DType::f32, {}}, 0.1)})}));
      weight.set_gradient({});
      return {loss};
    });
    Switches now = switches();
    now.captures = captures;
    const Switched with(now);
    Arrays results;
    for (int i = 0; i < 5; ++i) results.push_back(step({array({0.7F, static_cast<float>(i)})})[0]);
    results.push_back(weight);
    EXPECT_EQ(step.programs().size(), captures ? 1U : 0U);
    return results;
  };
  expect_same(train(true), train(false));
}

TEST(Function, DrawsAgainInTheOrderOfItsSteps) {
  const auto draw = [](bool captures) {
    seed(7);
    Function function([](const Arrays& x) -> Arrays { return {apply("add", {x[0], uniform({3})}), normal({2})}; });
    Switches now = switches();
    now.captures = captures;
    const Switched with(now);
    Arrays results;
    for (int i = 0; i < 3; ++i) {
      for (const Array& result : function({array({1, 2, 3})})) results.push_back(result);
      results.push_back(uniform({1}));
    }
    return results;
  };
  const Arrays captured = draw(true);
  expect_same(captured, draw(false));
  EXPECT_NE(values(captured[0]), values(captured[3]));
}

TEST(Function, SaysWhatItCannotTake) {
  FunctionOptions full_graph;
  full_graph.name = "choose";
  full_graph.full_graph = true;
  Function one([](const Arrays& x) -> Arrays { return {item(sum(x[0])) > 0 ? x[0] : apply("neg", {x[0]})}; },
               full_graph);
  EXPECT_EQ(diagnostic_of([&] {
              one({array({1, 2})});
            }),
            errors::value_asked_of_whole_program("captured function 'choose' (one program)", "reduce_sum", "f32[]"));
  Array weight = parameter({1});
  const Array outside = apply("mul", {weight, weight});
  Function back([&](const Arrays&) -> Arrays {
    backward(sum(outside));
    return {};
  });
  EXPECT_EQ(diagnostic_of([&] { back({}); }), errors::gradient_leaves_trace("captured function 'function'", "mul"));
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(Function, ArraysAndGradientsSayWhatTheyNeed) {
  const Array x = array({1, 2}), none;
  Array weight = parameter({1, 2}), whole = Array(Tensor(DType::i32, {2}));
  EXPECT_EQ(diagnostic_of([&] { (void)none.type(); }), errors::array_missing());
  EXPECT_EQ(diagnostic_of([&] { whole.require_gradient(true); }), errors::gradient_of_no_float("i32[2]"));
  EXPECT_EQ(diagnostic_of([&] { weight.set_gradient(array({1})); }),
            errors::array_type_kept("gradient", "f32[1]", "f32[2]"));
  EXPECT_EQ(diagnostic_of([&] { weight.assign(array({1})); }), errors::array_type_kept("assign", "f32[1]", "f32[2]"));
  EXPECT_EQ(diagnostic_of([&] { weight.assign(x); }), errors::assigned_parameter_requires_gradient());
  const Array elsewhere(Tensor(DType::f32, {2}), Place{DeviceKind::sim, 0});
  EXPECT_EQ(diagnostic_of([&] {
              apply("add", {x, elsewhere});
            }),
            errors::arrays_on_different_devices("add", "arrays on cpu and sim", "all on one device"));
  EXPECT_EQ(diagnostic_of([&] { item(x); }), errors::item_of_many_elements("f32[2]"));
  EXPECT_EQ(diagnostic_of([&] { backward(x); }), errors::gradient_of_constant("f32[2]"));
  EXPECT_EQ(diagnostic_of([&] { backward(apply("neg", {weight})); }), errors::gradient_of_many_elements("f32[2]"));
}

TEST(Function, SecondGradientsAreTakenInside) {
  Function function([](const Arrays& x) -> Arrays { return {apply("tanh", {apply("tanh", {x[0]})})}; });
  const Array weight = parameter({0.5F});
  for (int call = 0; call < 2; ++call) (void)function({weight});
  const Array y = function({weight})[0], one = array({1});
  const ContentPtr wanted[] = {weight.content()};
  EXPECT_EQ(diagnostic_of([&] {
              gradients({&y, 1}, {&one, 1}, wanted);
            }),
            errors::second_gradient_through_captured("captured function 'function'"));
}

TEST(Function, HasSoManyOutcomesOfOneDecision) {
  int runs = 0;
  Function function([&](const Arrays& x) -> Arrays {
    ++runs;
    return {full({DType::f32, {}}, item(x[0]))};
  });
  const auto run_all = [&] {
    for (size_t i = 0; i < Captured::kMostOutcomes + 3; ++i) {
      const auto value = static_cast<float>(i);
      EXPECT_EQ(values(function({array({value})})[0])[0], value);
    }
  };
  run_all();
  runs = 0;
  run_all();
  EXPECT_EQ(runs, 3) << "those that were not kept run step by step";
}

}  // namespace
}  // namespace halfstep::capture
