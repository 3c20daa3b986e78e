// Results of a captured function keep their values while anyone holds them, and so do arrays that it overwrote.
#include <gtest/gtest.h>

#include <thread>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/capture/tape.h"
#include "tests/capture/captured.h"

namespace halfstep::capture {
namespace {

using test::array;
using test::expect_same;
using test::parameter;

constexpr int64_t kMany = 300;  // elements: more than a small memory block holds

Array filled(float value) { return full({DType::f32, {kMany}}, value); }
Array sum(const Array& x) { return apply("reduce_sum", {x}, {{"axes", std::vector<int64_t>{0}}}); }

Arrays clones(const Arrays& arrays) {
  Arrays made;
  for (const Array& each : arrays) made.emplace_back(each.tensor().clone());
  return made;
}

/// Runs with and without capture, and expects the same results.
void expect_the_same_captured(const std::function<Arrays()>& run) {
  Switches now = switches();
  now.captures = false;
  const Arrays expected = [&] {
    const Switched with(now);
    return run();
  }();
  expect_same(run(), expected);
}

TEST(Results, KeepTheirNumbersInLaterCalls) {
  Function function([](const Arrays& x) -> Arrays {
    const Array y = apply("tanh", {apply("mul", {x[0], x[0]})});
    return {y, apply("neg", {y}), sum(y)};
  });
  std::vector<Arrays> given, copies;
  for (int call = 0; call < 8; ++call) {
    given.push_back(function({filled(static_cast<float>(call) / 8)}));
    copies.push_back(clones(given.back()));
    if (call % 3 == 2)
      given.front() = clones(copies.front()), copies.front() = clones(given.front());  // releases memory
  }
  for (size_t call = 0; call < given.size(); ++call) expect_same(given[call], copies[call]);
}

TEST(Results, OfSeveralThreadsAreTheirOwn) {
  Model model;
  const Value x = model.graph.add_argument("x", {DType::f32, {kMany}});
  Builder builder(model.graph);
  const Value doubled = ops::add(builder, {.a = x, .b = x}).out();
  model.graph.set_outputs({doubled, ops::neg(builder, {.x = doubled}).out()});
  const Recorded recorded(std::move(model), {{Place{}}, {Place{}, Place{}}});
  const auto run = [&](float seed) {
    std::vector<std::vector<Tensor>> held;
    for (int call = 0; call < 200; ++call) {
      const Array in = filled(seed + static_cast<float>(call));
      const Tensor* const inputs[] = {&in.tensor()};
      held.push_back(recorded.run(inputs));
      if (held.size() > 5) held.erase(held.begin());
      for (size_t back = 0; back < held.size(); ++back) {
        const float expected = 2 * (seed + static_cast<float>(call) - static_cast<float>(held.size() - 1 - back));
        EXPECT_EQ(held[back][0].data<float>()[kMany - 1], expected);
        EXPECT_EQ(held[back][1].data<float>()[0], -expected);
      }
    }
  };
  std::jthread other([&] { run(1000); });
  run(0);
}

/// A training step that computes its own gradients. `with` also has a state.
struct Training {
  Array weight = parameter({0.5F, -1.25F});
  Array state = array({1, 1});
  Function step{[this](const Arrays& x) -> Arrays {
    const Array y = apply("tanh", {apply("mul", {x[0], weight})});
    const Array loss = sum(apply("mul", {y, weight}));
    backward(loss);
    const Switched without(without_gradients());
    state.assign(apply("add", {state, y}));
    weight.assign(apply("sub", {weight, apply("mul", {weight.gradient(), full({DType::f32, {}}, 0.1)})}));
    weight.set_gradient({});
    return {loss, y};
  }};
};

TEST(Results, WhatWasWrittenOverKeepsItsNumbers) {
  expect_the_same_captured([] {
    Training training;
    Arrays held;
    for (int call = 0; call < 4; ++call) {
      held.emplace_back(training.weight.content());
      held.emplace_back(training.state.content());
      (void)training.step({array({0.7F, static_cast<float>(call)})});
    }
    held.push_back(training.weight);
    held.push_back(training.state);
    return held;
  });
}

TEST(Results, AndWhatTheyWereWrittenToAreTwoArrays) {
  Array state = array({0, 0});
  Function give([&](const Arrays& x) -> Arrays {
    const Array y = apply("add", {x[0], x[0]});
    state.assign(y);
    return {y};
  });
  (void)give({array({1, 2})});
  const Array y = give({array({3, 4})})[0];
  Function compare([&](const Arrays&) -> Arrays { return {apply("sub", {y, state})}; });
  EXPECT_EQ(test::values(compare({})[0]), (std::vector<float>{0, 0}));
  state.assign(array({1, 1}));
  EXPECT_EQ(test::values(compare({})[0]), (std::vector<float>{5, 7}));
}

TEST(Results, KeepTheWayOfTheirGradients) {
  expect_the_same_captured([] {
    const Array weight = parameter({0.5F, -1.25F});
    Function function([&](const Arrays& x) -> Arrays { return {apply("tanh", {apply("mul", {x[0], weight})})}; });
    Arrays losses, found;
    for (int call = 0; call < 4; ++call) losses.push_back(sum(function({array({0.7F, static_cast<float>(call)})})[0]));
    for (const Array& loss : losses) {
      weight.cell()->gradient = {};
      backward(loss);
      found.push_back(weight.gradient());
    }
    return found;
  });
}

TEST(Results, OfStepsThatTookGradientsHaveFurtherOnes) {
  expect_the_same_captured([] {
    Training training;
    Arrays losses, found;
    for (int call = 0; call < 4; ++call) {
      const Arrays given = training.step({array({0.7F, static_cast<float>(call)})});
      losses.push_back(call % 2 == 0 ? given[0] : sum(apply("mul", {given[1], given[0]})));
    }
    for (const Array& loss : losses) {
      training.weight.set_gradient({});
      backward(loss);
      found.push_back(training.weight.gradient());
    }
    found.push_back(training.weight);
    return found;
  });
}

TEST(Results, ThatArraysTookOverAreDifferentiableAsTheyWere) {
  expect_the_same_captured([] {
    const Array weight = parameter({0.5F, -1.25F});
    Array kept = array({0, 0}), plain = array({0, 0});
    Function function([&](const Arrays& x) -> Arrays {
      kept.assign(apply("mul", {x[0], weight}));
      const Switched without(without_gradients());
      plain.assign(apply("mul", {x[0], weight}));
      return {};
    });
    Arrays found;
    for (int call = 0; call < 3; ++call) {
      function({array({0.7F, static_cast<float>(call)})});
      EXPECT_FALSE(plain.is_differentiable());
      EXPECT_TRUE(kept.is_differentiable());
      weight.cell()->gradient = {};
      if (kept.is_differentiable()) backward(sum(kept));
      found.push_back(weight.gradient());
    }
    return found;
  });
}

}  // namespace
}  // namespace halfstep::capture
