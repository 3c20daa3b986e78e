#include "halfstep/engine/capture/flow.h"

#include <gtest/gtest.h>

#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tape.h"
#include "halfstep/engine/capture/tracing.h"
#include "tests/capture/captured.h"
#include "tests/support/error.h"

namespace halfstep::capture {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::kind_of;
using halfstep::test::name_of;
using test::array;
using test::expect_same;
using test::parameter;
using test::values;

Array number(double value, DType dtype = DType::f32) { return full({dtype, {}}, value); }
Array is_less(const Array& a, const Array& b) { return apply("less", {a, b}); }

/// Doubles x until the count is reached, and adds a parameter in each iteration.
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
  EXPECT_EQ(diagnostic_of([&] { cond(x, same, same, {x}); }),
            errors::condition_not_one_bool("cond: condition", "f32[2]"));
  EXPECT_EQ(kind_of([&] {
              cond(condition, same,
                   [](const Arrays& in) -> Arrays {
                     return {apply("cast", {in[0]}, {{"to", "i64"}})};
                   },
                   {x});
            }),
            ErrorKind::bad_input);
  EXPECT_EQ(diagnostic_of([&] {
              while_loop([&](const Arrays&) -> Arrays { return {condition}; },
                         [](const Arrays& in) -> Arrays {
                           return {apply("cast", {in[0]}, {{"to", "i64"}})};
                         },
                         {x});
            }),
            errors::loop_states_differ("the body of while_loop: state 0", "i64[2]", "f32[2]"));
  Array outside = array({1, 2});
  EXPECT_EQ(diagnostic_of([&] {
              cond(condition,
                   [&](const Arrays& in) {
                     outside.assign(in[0]);
                     return in;
                   },
                   same, {x});
            }),
            errors::outer_array_written_in_region("the first branch of cond"));
  EXPECT_EQ(diagnostic_of([&] {
              cond(condition, [](const Arrays& in) -> Arrays { return {number(item(in[0]))}; }, same, {array({1})});
            }),
            errors::contents_asked_in_region("the first branch of cond", "elements",
                                             "an argument of the first branch of cond"));
  Array leaked;
  cond(condition,
       [&](const Arrays& in) -> Arrays {
         leaked = apply("neg", {in[0]});
         return {leaked};
       },
       same, {x});
  EXPECT_EQ(diagnostic_of([&] { apply("neg", {leaked}); }),
            errors::contents_asked_after_trace("elements", "'neg' of the first branch of cond"));
  EXPECT_EQ(diagnostic_of([&] { cond(condition, [](const Arrays&) -> Arrays { return {uniform({2})}; }, same, {x}); }),
            errors::random_numbers_in_region("the first branch of cond"));
  const auto never = [&](const Arrays&) -> Arrays { return {condition}; };
  EXPECT_EQ(diagnostic_of([&] { while_loop(never, same, {}); }),
            errors::loop_without_operands("while_loop", "one state or more"));
  const auto step = [](const Arrays& states, const Arrays&) { return std::pair(states, Arrays()); };
  EXPECT_EQ(name_of([&] { scan(step, {}, {}); }), "loop_without_operands");
  EXPECT_EQ(diagnostic_of([&] { scan(step, {}, {condition}); }), errors::scanned_array_without_axis("bool[]"));
  EXPECT_EQ(Trace::current(), nullptr);
}

}  // namespace
}  // namespace halfstep::capture
