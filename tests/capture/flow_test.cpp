#include "halfstep/engine/capture/flow.h"

#include <gtest/gtest.h>

#include "halfstep/engine/capture/step.h"
#include "halfstep/engine/capture/trace.h"
#include "tests/capture/captured.h"
#include "tests/support/error.h"

namespace halfstep::capture {
namespace {

using halfstep::test::error_of;
using test::array;
using test::expect_same;
using test::parameter;
using test::values;

Array number(double value, DType dtype = DType::f32) { return full({dtype, {}}, value); }
Array is_less(const Array& a, const Array& b) { return apply("less", {a, b}); }

/// x doubled until the count is there, plus a parameter each time.
Array doubled(const Array& x, const Array& count, const Array& weight) {
  const Arrays last = while_loop(
      [&](const Arrays& now) -> Arrays { return {is_less(now[0], count)}; },
      [&](const Arrays& now) -> Arrays {
        return {apply("add", {now[0], number(1, DType::i64)}), apply("add", {apply("add", {now[1], now[1]}), weight})};
      },
      {number(0, DType::i64), x});
  return last[1];
}

TEST(Flow, LoopsRunAsOftenAsValuesSay) {
  const Array weight = array({0.5F, -1});
  EXPECT_EQ(values(doubled(array({1, 2}), number(3, DType::i64), weight)), (std::vector<float>{11.5F, 9}));
  EXPECT_EQ(values(doubled(array({1, 2}), number(0, DType::i64), weight)), (std::vector<float>{1, 2}));
}

TEST(Flow, HasGradientsThroughLoopsAndBranches) {
  Array weight = parameter({0.5F, -1});
  const auto body = [&](const Arrays& x) -> Arrays {
    return {cond(
        x[1], [&](const Arrays& in) -> Arrays { return {doubled(in[0], number(3, DType::i64), weight)}; },
        [&](const Arrays& in) -> Arrays {
          return {apply("mul", {in[0], weight})};
        },
        {x[0]})};
  };
  const auto gradient = [&](const std::function<Arrays(const Arrays&)>& run, bool which) {
    weight.set_gradient({});
    const Array loss = apply("reduce_sum", {run({array({1, 2}), number(which ? 1 : 0, DType::boolean)})[0]},
                             {{"axes", std::vector<int64_t>{0}}});
    backward(loss);
    return Arrays{loss, weight.gradient()};
  };
  Function function(body);
  for (const bool which : {true, false}) {
    const Arrays expected = gradient(body, which);
    EXPECT_EQ(values(expected[1]), which ? (std::vector<float>{7, 7}) : (std::vector<float>{1, 2}));
    for (int call = 0; call < 2; ++call)
      expect_same(gradient([&](const Arrays& x) { return function(x); }, which), expected);
  }
  EXPECT_TRUE(function.why_recaptured().empty()) << "one program has both ways";
}

TEST(Flow, ScansGoThroughElements) {
  const auto [last, stacked] = scan(
      [](const Arrays& states, const Arrays& elements) -> std::pair<Arrays, Arrays> {
        const Array sum = apply("add", {states[0], elements[0]});
        return {{sum}, {apply("mul", {sum, sum})}};
      },
      {array({0, 0})}, {array({1, 2, 3, 4, 5, 6}, {3, 2})});
  EXPECT_EQ(values(last[0]), (std::vector<float>{9, 12}));
  EXPECT_EQ(values(stacked[0]), (std::vector<float>{1, 4, 16, 36, 81, 144}));
}

TEST(Flow, SaysWhatARegionCannotBe) {
  const Array x = array({1, 2});
  const Array condition = number(1, DType::boolean);
  const auto same = [](const Arrays& in) { return in; };
  EXPECT_EQ(error_of([&] { cond(x, same, same, {x}); }),
            "cond: condition: found f32[2], expected bool with one element; compare what is to be compared");
  EXPECT_EQ(error_of([&] {
              cond(condition, same,
                   [](const Arrays& in) -> Arrays {
                     return {apply("cast", {in[0]}, {{"to", "i64"}})};
                   },
                   {x});
            }),
            "node 'if': if: region else gives 'cast', i64[2], expected f32[2] as region then");
  EXPECT_EQ(error_of([&] {
              while_loop([&](const Arrays&) -> Arrays { return {condition}; },
                         [](const Arrays& in) -> Arrays {
                           return {apply("cast", {in[0]}, {{"to", "i64"}})};
                         },
                         {x});
            }),
            "the body of while_loop: state 0: found i64[2], expected f32[2], as it came in");
  Array outside = array({1, 2});
  EXPECT_EQ(error_of([&] {
              cond(condition,
                   [&](const Arrays& in) {
                     outside.assign(in[0]);
                     return in;
                   },
                   same, {x});
            }),
            "the first branch of cond: found an array that is there outside of it and is written in it, expected a "
            "value that "
            "is given on (a state of the loop, or a result)");
  EXPECT_EQ(
      error_of([&] {
        cond(condition, [](const Arrays& in) -> Arrays { return {number(item(in[0]))}; }, same, {array({1})});
      }),
      "the first branch of cond: found its elements asked of a value that is not there while it is traced (an argument "
      "of the first branch of cond), expected operators on it alone; for a choice use cond or while_loop");
  Array leaked;
  cond(condition,
       [&](const Arrays& in) -> Arrays {
         leaked = apply("neg", {in[0]});
         return {leaked};
       },
       same, {x});
  EXPECT_EQ(error_of([&] { apply("neg", {leaked}); }),
            "array: found its elements asked of a value whose trace has ended ('neg' of the first branch of cond), "
            "expected what "
            "the captured function or the region returns");
  EXPECT_EQ(Trace::current(), nullptr);
}

}  // namespace
}  // namespace halfstep::capture
