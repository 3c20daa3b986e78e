// Regions: their arguments and results, and the values that their programs compute.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "halfstep/core/ir/errors.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/engine/compile/describe.h"
#include "halfstep/engine/kernels/errors.h"
#include "tests/compile/support.h"
#include "tests/support/scalars.h"

namespace halfstep::testing_compile {
namespace {

using test::number;
using test::truth;

using Tensors = std::map<std::string, Tensor>;

/// y = x * 2^n by doubling n times. The counter is a state too.
constexpr const char* kDoubling = R"(graph doubling(x: f32[2, 3], n: i64[]) {
  const @zero: i64[]
  const @one: i64[]
  first = less(a=@zero, b=n)
  loop = while(cond=first, values=[@zero, x, n]) {states: 2} region body(i: i64[], v: f32[2, 3], last: i64[]) {
    w = add(a=v, b=v)
    j = add(a=i, b=@one)
    more = less(a=j, b=last)
    return more, j, w
  }
  return loop, loop.out1
})";

/// relu or tanh of a product, chosen by the sign of a sum. Both branches capture the same values.
constexpr const char* kBranch = R"(graph branch(x: f32[4, 3], positive: bool[]) {
  param @w: f32[3, 3]
  r = if(cond=positive, captured=[x]) region then(a: f32[4, 3]) {
    p = linear(x=a, w=@w)
    q = relu(x=p)
    return q
  } region else(b: f32[4, 3]) {
    t = tanh(x=b)
    return t
  }
  out = add(a=r, b=x)
  return out
})";

/// Running sums of the rows of x, and the last sum.
constexpr const char* kSums = R"(graph sums(x: f32[5, 3], start: f32[3]) {
  s = scan(values=[start, x]) {states: 1, scanned: 1} region body(sum: f32[3], row: f32[3]) {
    next = add(a=sum, b=row)
    return next, next
  }
  return s, rows = s.out1
})";

Model doubling() {
  Model model = model_of(kDoubling);
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  return model;
}

std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.data<float>();
  return {values.begin(), values.end()};
}

Tensors run(const Model& model, const Tensors& inputs, int threads = 1,
            const CompileOptions& options = {.one_order = true}) {
  ThreadPool pool(threads);
  return compile(model, options).run(inputs, pool);
}

/// Expects the same results on the other device, without optimizations and on several threads.
void expect_the_same_everywhere(const Model& model, const Tensors& inputs) {
  const Tensors expected = run(model, inputs);
  const CompileOptions sim{.place = kSim, .one_order = true}, plain{.optimize = false, .one_order = true};
  for (const Tensors& found : {run(model, inputs, 3), run(model, inputs, 1, sim), run(model, inputs, 2, plain)}) {
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, tensor] : expected)
      EXPECT_EQ(std::memcmp(tensor.raw(), found.at(name).raw(), tensor.bytes()), 0) << name;
  }
}

TEST(FlowProgram, ALoopRunsAsLongAsItsConditionHolds) {
  const Model model = doubling();
  const Tensor x = random_tensor({DType::f32, {2, 3}}, 5);
  for (const int64_t count : {0, 1, 2, 7}) {
    const Tensors out = run(model, {{"x", x}, {"n", number(count)}});
    EXPECT_EQ(out.at("loop").data<int64_t>()[0], count);
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(floats(out.at("loop.out1"))[i], std::ldexp(floats(x)[i], static_cast<int>(count))) << count;
    expect_the_same_everywhere(model, {{"x", x}, {"n", number(count)}});
  }
}

TEST(FlowProgram, ALoopEndsAfterAtMostSoManyIterations) {
  Model model = doubling();
  model.graph.op("loop").set_attributes({{"at_most", int64_t{3}}});
  const Tensors out = run(model, {{"x", random_tensor({DType::f32, {2, 3}}, 5)}, {"n", number(100)}});
  EXPECT_EQ(out.at("loop").data<int64_t>()[0], 3);
}

TEST(FlowProgram, ABranchRunsWhatTheConditionSays) {
  const Model model = model_of(kBranch);
  const Tensor x = random_tensor({DType::f32, {4, 3}}, 9);
  const Tensors off = run(model, {{"x", x}, {"positive", truth(false)}});
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(floats(off.at("out"))[i], std::tanh(floats(x)[i]) + floats(x)[i], 1e-6);
  const Model straight = model_of(R"(graph straight(x: f32[4, 3]) {
    param @w: f32[3, 3]
    p = linear(x=x, w=@w)
    q = relu(x=p)
    out = add(a=q, b=x)
    return out
  })");
  const Tensors on = run(model, {{"x", x}, {"positive", truth(true)}});
  EXPECT_EQ(floats(on.at("out")), floats(run(straight, {{"x", x}}).at("out")));
  for (const bool positive : {false, true})
    expect_the_same_everywhere(model, {{"x", x}, {"positive", truth(positive)}});
}

TEST(FlowProgram, AScanTakesElementByElementAndStacksWhatItMakes) {
  const Model model = model_of(kSums);
  const Tensors inputs = inputs_of(model);
  const Tensors out = run(model, inputs);
  std::vector<float> sum = floats(inputs.at("start"));
  for (size_t row = 0; row < 5; ++row) {
    for (size_t i = 0; i < 3; ++i) {
      sum[i] += floats(inputs.at("x"))[row * 3 + i];
      EXPECT_EQ(floats(out.at("rows"))[row * 3 + i], sum[i]);
    }
  }
  EXPECT_EQ(floats(out.at("s")), sum);
  expect_the_same_everywhere(model, inputs);
}

// A11.1
TEST(FlowProgram, FloatsInARegionBesideCodesHaveTheBitsOfTheirReferences) {
  Model model = model_of(R"(graph g(x: f32[3, 64], on: bool[]) {
    const @s: f32[1]
    const @z: i32[1]
    param @w: f32[64, 8]
    param @b: f32[8]
    codes = quantize(x=x, scale=@s, zero_point=@z)
    real = dequantize(x=codes, scale=@s, zero_point=@z)
    r = if(cond=on, captured=[real]) region then(v: f32[3, 64]) {
      p = matmul(a=v, b=@w)
      q = add(a=p, b=@b)
      return q
    } region else(u: f32[3, 64]) {
      t = matmul(a=u, b=@w)
      return t
    }
    return r
  })");
  model.tensors["s"] = Tensor::scalar(0.01F);
  model.tensors["z"] = Tensor::scalar(int32_t{128});
  const Tensors inputs = {{"x", random_tensor({DType::f32, {3, 64}}, 5)}, {"on", truth(true)}};
  EXPECT_EQ(floats(run(model, inputs, 1, {}).at("r")), floats(run(model, inputs, 1, {.optimize = false}).at("r")));
}

TEST(FlowProgram, ARegionIsCalledOnceAndMayGiveWhatItTook) {
  const Model model = model_of(R"(graph g(x: f32[2], y: f32[2]) {
    c = call(captured=[x, y]) region body(a: f32[2], b: f32[2]) { s = add(a=a, b=b) return b, s, s, a }
    return c, c.out1, c.out2, c.out3
  })");
  const Tensors inputs = inputs_of(model);
  const Tensors out = run(model, inputs);
  EXPECT_EQ(floats(out.at("c")), floats(inputs.at("y")));
  EXPECT_EQ(floats(out.at("c.out1")), floats(out.at("c.out2")));
  EXPECT_EQ(floats(out.at("c.out3")), floats(inputs.at("x")));
  expect_the_same_everywhere(model, inputs);
}

TEST(FlowProgram, StatesMayChangePlaces) {
  Model model = model_of(R"(graph fibonacci(n: i64[]) {
    const @zero: i64[]
    const @one: i64[]
    first = less(a=@zero, b=n)
    f = while(cond=first, values=[@zero, @zero, @one, n]) {states: 3} region body(i: i64[], a: i64[], b: i64[], m: i64[]) {
      j = add(a=i, b=@one)
      c = add(a=a, b=b)
      more = less(a=j, b=m)
      return more, j, b, c
    }
    return f.out1
  })");
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  EXPECT_EQ(run(model, {{"n", number(50)}}).at("f.out1").data<int64_t>()[0], 12586269025);
  expect_the_same_everywhere(model, {{"n", number(11)}});
}

TEST(FlowProgram, RegionsAreInsideEachOther) {
  Model model = model_of(R"(graph nested(x: f32[4, 3], on: bool[]) {
    param @w: f32[3, 3]
    s = scan(values=[x, on]) {states: 0, scanned: 1} region body(row: f32[3], p: bool[]) {
      r = if(cond=p, captured=[row]) region then(a: f32[3]) {
        m = reshape(x=a) {dims: [1, 3]}
        y = linear(x=m, w=@w)
        z = reshape(x=y) {dims: [3]}
        return z
      } region else(b: f32[3]) { return b }
      return r
    }
    return s
  })");
  const Tensor x = random_tensor({DType::f32, {4, 3}}, 3);
  EXPECT_EQ(floats(run(model, {{"x", x}, {"on", truth(false)}}).at("s")), floats(x));
  const Model straight =
      model_of("graph straight(x: f32[4, 3]) { param @w: f32[3, 3] y = linear(x=x, w=@w) return y }");
  EXPECT_EQ(floats(run(model, {{"x", x}, {"on", truth(true)}}).at("s")), floats(run(straight, {{"x", x}}).at("y")));
  expect_the_same_everywhere(model, {{"x", x}, {"on", truth(true)}});
}

TEST(FlowProgram, TextGoesThereAndBack) {
  for (const char* text : {kDoubling, kBranch, kSums}) {
    const Graph graph = parse(text, "t.ir", {.locations = false});
    verify(graph);
    EXPECT_TRUE(parse(print(graph), "t.ir", {.locations = false}) == graph) << print(graph);
    EXPECT_TRUE(Graph(graph) == graph);
  }
}

/// The error of line "a=..." in the region of a loop over x: f32[2, 3] with one state. `region` is the lines before the
/// return and the returned values.
Diagnostic loop_error(const std::string& region) {
  return test::diagnostic_of([&] {
    parse("graph g(x: f32[2, 3], go: bool[]) {\n l = while(cond=go, values=[x, x, go]) {states: 1} region body" +
              region + "\n return l }",
          "t.ir");
  });
}

TEST(FlowRules, SayWhatRegionsTakeAndGive) {
  EXPECT_EQ(loop_error("(a: f32[2, 3], b: f32[2, 3]) { return }"),
            errors::region_values("t.ir:2: node 'l'", "while", "arguments of region body", 2, 3));
  EXPECT_EQ(loop_error("(a: f32[2, 3], b: f32[3, 3], c: bool[]) { return c, a }"),
            errors::region_type("t.ir:2: node 'l'", "while", "'b'", "f32[3, 3]", "f32[2, 3] as 'x'"));
  EXPECT_EQ(loop_error("(a: f32[2, 3], b: f32[2, 3], c: bool[]) { return c }"),
            errors::region_values("t.ir:2: node 'l'", "while", "outputs of region body", 1,
                                  "at least 2: the condition and the states"));
  EXPECT_EQ(loop_error("(a: f32[2, 3], b: f32[2, 3], c: bool[]) { return a, b }"),
            errors::condition_type("t.ir:2: node 'l'", "while", "a", "f32[2, 3]"));
  EXPECT_EQ(loop_error("(a: f32[2, 3], b: f32[2, 3], c: bool[]) { d = cast(x=a) {to: \"f64\"} return c, d }"),
            errors::region_type("t.ir:2: node 'l'", "while", "output 'd' of an iteration", "f64[2, 3]",
                                "f32[2, 3] as the state 'a'"));
  EXPECT_EQ(loop_error("(a: f32[2, 3], b: f32[2, 3], c: bool[]) { d = concat(x=[a, b]) {axis: 0} return c, d }"),
            errors::region_type("t.ir:2: node 'l'", "while", "output 'd' of an iteration", "f32[4, 3]",
                                "f32[2, 3] as the state 'a'"));
  EXPECT_EQ(test::diagnostic_of([] {
              parse(
                  "graph g(x: f32[2], go: bool[3]) { r = if(cond=go, captured=[x]) region then(a: f32[2]) { return a } "
                  "region else(b: f32[2]) { return b } return r }",
                  "t.ir");
            }),
            errors::condition_type("t.ir:1: node 'r'", "if", "go", "bool[3]"));
  EXPECT_EQ(test::diagnostic_of([] {
              parse(
                  "graph g(x: f32[2], go: bool[]) { r = if(cond=go, captured=[x]) region then(a: f32[2]) { return a } "
                  "region else(b: f32[2]) { return b, b } return r }",
                  "t.ir");
            }),
            errors::region_values("t.ir:1: node 'r'", "if", "outputs of region else", 2, "1 as region then"));
  EXPECT_EQ(test::diagnostic_of([] {
              parse(
                  "graph g(x: f32[2], y: f32[3, 4]) { s = scan(values=[x, y]) {states: 0, scanned: 2} "
                  "region body(a: f32[], b: f32[4]) { return a } return s }",
                  "t.ir");
            }),
            errors::scan_extent("t.ir:1: node 's'", "scan", "y", "3 elements", "2 as the values before it"));
  EXPECT_EQ(test::diagnostic_of([] {
              parse(
                  "graph g(x: f32[2]) { s = scan(values=[x]) {states: 1, scanned: 0} region body(a: f32[2]) "
                  "{ return a } return s }",
                  "t.ir");
            }),
            errors::loop_operands("t.ir:1: node 's'", "scan", "no scanned", "at least one to scan"));
}

/// The error of a backward over x: f32[2, 3] with these regions `step` and `back`, one state, one carried value and
/// rows of y: f32[4].
Diagnostic backward_error(const std::string& step, const std::string& back) {
  return test::diagnostic_of([&] {
    parse(
        "graph g(x: f32[2, 3], y: f32[4], go: bool[]) {\n r = backward(cond=go, values=[x, x, y]) {states: 1, "
        "scanned: 0, carried: 1, rows: 1} region step" +
            step + " region back" + back + "\n return r }",
        "t.ir");
  });
}

TEST(FlowRules, SayWhatGoesBackward) {
  const std::string step = "(a: f32[2, 3]) { m = is_nan(x=a) n = reduce_max(x=m) {keep_dims: false} return n, a }";
  const std::string back = "(b: f32[2, 3], c: f32[2, 3], d: f32[]) { e = mul(a=c, b=d) return e }";
  EXPECT_EQ(backward_error(step, back), Diagnostic{});
  EXPECT_EQ(backward_error("(a: f32[2, 3]) { return a }", back),
            errors::region_values("t.ir:2: node 'r'", "backward", "outputs of region step", 1,
                                  "at least 2: the condition and the states"));
  EXPECT_EQ(
      backward_error("(a: f32[2, 3]) { m = is_nan(x=a) n = reduce_max(x=m) {keep_dims: false} return n, a, a }", back),
      errors::region_values("t.ir:2: node 'r'", "backward", "outputs of region step after its condition", 2,
                            "1, the states"));
  EXPECT_EQ(backward_error(step, "(b: f32[2, 3], c: f32[2, 3]) { return c }"),
            errors::region_values("t.ir:2: node 'r'", "backward", "arguments of region back", 2, 3));
  EXPECT_EQ(backward_error(step, "(b: f32[2, 3], c: f32[2, 3], d: f32[4]) { return c }"),
            errors::region_type("t.ir:2: node 'r'", "backward", "'d'", "f32[4]", "f32[] as 'y'"));
  EXPECT_EQ(backward_error(step, "(b: f32[2, 3], c: f32[2, 3], d: f32[]) { return }"),
            errors::region_values("t.ir:2: node 'r'", "backward", "outputs of region back", 0,
                                  "at least 1: the carried values"));
  EXPECT_EQ(backward_error(step, "(b: f32[2, 3], c: f32[2, 3], d: f32[]) { return d }"),
            errors::region_type("t.ir:2: node 'r'", "backward", "output 'd' of an iteration", "f32[]",
                                "f32[2, 3] as the carried value 'c'"));
}

TEST(FlowRules, BranchesAreJoinedAndStatesSettle) {
  const Graph graph = parse(R"(graph g(x: f32[2, 3], go: bool[]) {
    r = if(cond=go, captured=[x]) region then(a: f32[2, 3]) { return a }
      region else(b: f32[2, 3]) { d = concat(x=[b, b]) {axis: 0} return d }
    return r
  })");
  EXPECT_EQ(to_string(graph.value("r").type()), "f32[?, 3]");
  Graph growing = parse(R"(graph g(x: f32[2, 3], go: bool[]) {
    const @zero: i64[]
    l = while(cond=go, values=[x, x]) {states: 1} region body(a: f32[?, 3], b: f32[2, 3]) {
      d = concat(x=[a, b]) {axis: 0}
      n = less(a=@zero, b=@zero)
      return n, d
    }
    return l
  })");
  growing.op("l").infer();
  EXPECT_EQ(to_string(growing.value("l").type()), "f32[?, 3]");
}

TEST(FlowProgram, ErrorsNameThePath) {
  Model model = model_of(R"(graph g(x: f32[3], ids: i64[4, 2]) {
    s = scan(values=[ids, x]) {states: 0, scanned: 1} region body(id: i64[2], table: f32[3]) {
      e = gather(x=table, indices=id) {axis: 0}
      return e
    }
    return s
  })");
  Tensor ids(DType::i64, {4, 2});
  ids.data<int64_t>()[5] = 7;
  const Diagnostic error = diagnostic_of([&] { run(model, {{"x", Tensor(DType::f32, {3})}, {"ids", ids}}); });
  EXPECT_EQ(error.entry, &errors::operand_index_out_of_range_entry);
  EXPECT_TRUE(error.where.starts_with("scan 's', iteration 2: test.ir:3: node 'e': gather (")) << error.where;
}

/// Stacks a row for each iteration, and adds up the rows.
constexpr const char* kStacked = R"(graph stacked(x: f32[3], n: i64[]) {
  const @zero: i64[]
  const @one: i64[]
  param @w: f32[3, 3]
  first = less(a=@zero, b=n)
  l = while(cond=first, values=[@zero, x, n]) {states: 2} region body(i: i64[], v: f32[3], last: i64[]) {
    w = add(a=v, b=v)
    j = add(a=i, b=@one)
    more = less(a=j, b=last)
    return more, j, w, w
  }
  y = linear(x=l.out2, w=@w)
  total = reduce_sum(x=y) {axes: [0], keep_dims: false}
  out = add(a=total, b=x)
  return l.out2, y, out
})";

TEST(FlowOpen, WhatIsStackedHasAsManyRowsAsIterations) {
  Model model = model_of(kStacked);
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  const Tensor x = random_tensor({DType::f32, {3}}, 5);
  ThreadPool pool(2);
  runtime::Program program = compile(model, {.one_order = true});
  for (const int64_t count : {3, 1, 0, 5}) {
    const Tensors out = program.run({{"x", x}, {"n", number(count)}}, pool);
    EXPECT_EQ(out.at("l.out2").dims(), (Dims{count, 3}));
    EXPECT_EQ(out.at("y").dims(), (Dims{count, 3}));
    for (size_t i = 0; i < static_cast<size_t>(count) * 3; ++i)
      EXPECT_EQ(floats(out.at("l.out2"))[i], std::ldexp(floats(x)[i % 3], static_cast<int>(i / 3) + 1));
    expect_the_same_everywhere(model, {{"x", x}, {"n", number(count)}});
  }
}

TEST(FlowOpen, AStateMayGrow) {
  Model model = model_of(R"(graph growing(x: f32[1, 3], n: i64[]) {
    const @one: i64[]
    first = less(a=@one, b=n)
    l = while(cond=first, values=[@one, x, x, n]) {states: 2} region body(i: i64[], v: f32[?, 3], row: f32[1, 3], last: i64[]) {
      w = concat(x=[v, row]) {axis: 0}
      j = add(a=i, b=@one)
      more = less(a=j, b=last)
      return more, j, w
    }
    t = reduce_sum(x=l.out1) {axes: [0], keep_dims: true}
    return t, l.out1
  })");
  model.tensors["one"] = number(1);
  const Tensor x = Tensor::of<float>(DType::f32, {1, 3}, std::array<float, 3>{1, 2, 3});
  for (const int64_t count : {1, 4}) {
    const Tensors out = run(model, {{"x", x}, {"n", number(count)}});
    EXPECT_EQ(out.at("l.out1").dims(), (Dims{count, 3}));
    const auto rows = static_cast<float>(count);
    EXPECT_EQ(floats(out.at("t")), (std::vector<float>{rows, 2 * rows, 3 * rows}));
  }
}

TEST(FlowOpen, BranchesMayHaveDifferentExtents) {
  const Model model = model_of(R"(graph g(x: f32[2, 3], on: bool[]) {
    r = if(cond=on, captured=[x]) region then(a: f32[2, 3]) { return a }
      region else(b: f32[2, 3]) { d = concat(x=[b, b]) {axis: 0} return d }
    t = reduce_sum(x=r) {axes: [0], keep_dims: false}
    s = if(cond=on, captured=[t, r]) region then(c: f32[3], e: f32[?, 3]) { return c }
      region else(f: f32[3], g: f32[?, 3]) { h = reduce_sum(x=g) {axes: [0], keep_dims: false} return h }
    return s
  })");
  const Tensor x = random_tensor({DType::f32, {2, 3}}, 5);
  for (const bool on : {false, true}) {
    const std::vector<float> sum = floats(run(model, {{"x", x}, {"on", truth(on)}}).at("s"));
    for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(sum[i], (floats(x)[i] + floats(x)[i + 3]) * (on ? 1 : 2), 1e-5);
  }
}

TEST(FlowProgram, AStateOfTheNetworkIsUpdatedInEachIteration) {
  const std::string observe =
      "(row: f32[4]) { o = moving_average_abs_max_scale(x=row, in_accum=@accum, in_state=@count) return o }";
  const std::string declared = " state @accum: f32[1] state @count: f32[1] ";
  const Model looped = model_of("graph g(x: f32[6, 4]) {" + declared +
                                "s = scan(values=[x]) {states: 0, scanned: 1} region body" + observe + " return s }");
  const Model straight = model_of("graph g(row: f32[4]) {" + declared + observe.substr(observe.find('{') + 1));
  ThreadPool pool(2);
  runtime::Program loop = compile(looped), step = compile(straight);
  const Tensor x = random_tensor({DType::f32, {6, 4}}, 3);
  for (int run = 0; run < 2; ++run) {
    loop.run({{"x", x}}, pool);
    for (size_t row = 0; row < 6; ++row) {
      Tensor one(DType::f32, {4});
      std::copy_n(x.data<float>().begin() + static_cast<std::ptrdiff_t>(row * 4), 4, one.data<float>().begin());
      step.run({{"row", one}}, pool);
    }
  }
  for (const char* name : {"accum", "count"}) EXPECT_EQ(floats(loop.tensor(name)), floats(step.tensor(name)));
}

/// Tensors and values in regions may share a name, because nothing outside can read a value in a region.
TEST(FlowProgram, FetchesWhatIsOutsideOfRegions) {
  std::string text = kSums;
  text.insert(text.find("  s = scan"), "  const @row: f32[3]\n");
  const Model model = model_of(text);
  CompileOptions options;
  options.fetch = {"row"};
  ThreadPool pool(1);
  EXPECT_EQ(floats(compile(model, options).run(inputs_of(model), pool).at("row")), floats(model.tensors.at("row")));
  options.fetch = {"sum"};
  EXPECT_EQ(name_of([&] { compile(model, options); }), "fetch_unknown");
}

}  // namespace
}  // namespace halfstep::testing_compile
