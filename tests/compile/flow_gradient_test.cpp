// Gradients of branches, loops and calls, compared with central differences in float64 and with the same computation
// without regions.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "halfstep/core/ir/text/print.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "halfstep/passes/gradient/errors.h"
#include "tests/compile/support.h"
#include "tests/support/scalars.h"

namespace halfstep::testing_compile {
namespace {

using test::number;
using test::truth;

Tensor real(double value) { return Tensor::of<double>(DType::f64, {}, {&value, 1}); }

Tensors run(const Model& model, const Tensors& inputs, int threads = 1) {
  ThreadPool pool(threads);
  return compile(model, {.freeze_tensors = false, .one_order = true}).run(inputs, pool);
}

/// Parameters and arguments of a float type.
std::vector<Value> variables(const Model& model) {
  std::vector<Value> found;
  for (const Value tensor : model.graph.tensors()) {
    if (tensor.role() == Role::parameter) found.push_back(tensor);
  }
  for (const Value argument : model.graph.arguments()) {
    if (is_float(argument.dtype())) found.push_back(argument);
  }
  return found;
}

std::string key(Value value) { return (value.is_tensor() ? "@" : "") + value.name(); }

/// The network and its gradients. The loss is the sum of all float outputs times "seed.OUTPUT".
Model with_gradients(const Model& network) {
  Model model = network;
  std::vector<Value> outputs = model.graph.outputs();
  std::vector<std::string> names = model.graph.body().output_names();
  std::vector<passes::Seed> seeds;
  const std::vector<Value> wanted = variables(model);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_float(outputs[i].dtype()))
      seeds.push_back({outputs[i], model.graph.add_argument("seed." + names[i], outputs[i].type())});
  }
  const std::vector<Value> gradients = passes::autodiff(model, seeds, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!gradients[i]) continue;
    outputs.push_back(gradients[i]);
    names.push_back("gradient of " + key(wanted[i]));
  }
  model.graph.set_outputs(outputs, names);
  verify(model.graph);
  EXPECT_TRUE(parse(print(model.graph), "t.ir", {}) == model.graph) << print(model.graph);
  return model;
}

/// The inputs, and a seed for each output.
Tensors with_seeds(const Model& network, const Tensors& inputs, const Tensors& outputs) {
  Tensors all = inputs;
  for (size_t i = 0; i < network.graph.outputs().size(); ++i) {
    const std::string& name = network.graph.body().output_names()[i];
    if (is_float(network.graph.outputs()[i].dtype()))
      all.emplace("seed." + name, random_tensor(outputs.at(name).type(), 77 + i));
  }
  return all;
}

/// Gradients of a network on these inputs. Checks that any number of threads computes the same bits.
Tensors gradients_of(const Model& network, const Tensors& inputs) {
  const Model model = with_gradients(network);
  const Tensors seeded = with_seeds(network, inputs, run(network, inputs));
  Tensors gradients;
  const Tensors once = run(model, seeded), again = run(model, seeded, 4);
  for (const auto& [name, value] : once) {
    EXPECT_TRUE(value.same_bits(again.at(name))) << name;
    if (name.starts_with("gradient of ")) gradients.emplace(name.substr(12), value);
  }
  return gradients;
}

double objective(const Model& network, const Tensors& inputs, const Tensors& seeded) {
  double sum = 0;
  for (const auto& [name, output] : run(network, inputs)) {
    const auto seed = seeded.find("seed." + name);
    if (seed == seeded.end()) continue;
    for (int64_t i = 0; i < output.size(); ++i)
      sum += output.data<double>()[static_cast<size_t>(i)] * seed->second.data<double>()[static_cast<size_t>(i)];
  }
  return sum;
}

/// Expects the derivative as the gradient of every variable, except those in `without`, which have no gradient.
void expect_derivatives(const Model& network, const Tensors& inputs, const std::set<std::string>& without = {}) {
  constexpr double kStep = 1e-6, kTolerance = 1e-7;
  const Tensors gradients = gradients_of(network, inputs);
  const Tensors seeded = with_seeds(network, inputs, run(network, inputs));
  for (const Value variable : variables(network)) {
    const auto found = gradients.find(key(variable));
    ASSERT_EQ(found == gradients.end(), without.contains(key(variable))) << key(variable);
    if (found == gradients.end()) continue;
    ASSERT_EQ(found->second.type(), variable.type());
    for (int64_t i = 0; i < found->second.size(); ++i) {
      double moved[2];
      for (const int side : {0, 1}) {
        Model changed = network;
        Tensors fed = inputs;
        Tensor& at = (variable.is_tensor() ? changed.tensors : fed).at(variable.name());
        at = at.clone();
        at.data<double>()[static_cast<size_t>(i)] += side == 0 ? -kStep : kStep;
        moved[side] = objective(changed, fed, seeded);
      }
      const double expected = (moved[1] - moved[0]) / (2 * kStep);
      EXPECT_NEAR(found->second.data<double>()[static_cast<size_t>(i)], expected,
                  kTolerance * std::max(1.0, std::fabs(expected)))
          << key(variable) << "[" << i << "]";
    }
  }
}

/// Like expect_derivatives, for several iteration counts, which are passed as `n`.
void expect_derivatives_after(const Model& network, const std::vector<int64_t>& counts) {
  Tensors inputs = inputs_of(network);
  for (const int64_t count : counts) {
    inputs["n"] = number(count);
    expect_derivatives(network, inputs);
  }
}

// ---- branches and calls

/// Both branches and the outside read @w, x is captured twice, and y matters in one branch only.
constexpr const char* kBranch = R"(graph branch(x: f64[2, 3], y: f64[2, 3], positive: bool[]) {
  param @w: f64[2, 3]
  param @b: f64[2, 3]
  o = mul(a=x, b=@w)
  r = if(cond=positive, captured=[o, y, o]) region then(a: f64[2, 3], c: f64[2, 3], again: f64[2, 3]) {
    p = mul(a=a, b=@w)
    q = sin(x=p)
    s = mul(a=q, b=again)
    return s, c
  } region else(d: f64[2, 3], e: f64[2, 3], f: f64[2, 3]) {
    t = tanh(x=d)
    u = mul(a=t, b=@w)
    v = add(a=u, b=@b)
    return v, v
  }
  out = mul(a=r, b=r.out1)
  return out, r.out1
})";

TEST(FlowGradients, OfBothBranches) {
  const Model model = model_of(kBranch);
  for (const bool positive : {false, true}) {
    Tensors inputs = inputs_of(model);
    inputs["positive"] = truth(positive);
    expect_derivatives(model, inputs);
  }
}

TEST(FlowGradients, OfACall) {
  const Model model = model_of(R"(graph g(x: f64[3], y: f64[3]) {
    param @w: f64[3]
    c = call(captured=[x, y]) region body(a: f64[3], b: f64[3]) {
      d = call(captured=[a]) region body(e: f64[3]) { f = mul(a=e, b=@w) g = sin(x=f) return g, @w, e }
      h = mul(a=d, b=d.out2)
      return h, d.out1, b, b
    }
    out = mul(a=c.out1, b=c)
    return out, c.out2, c.out3
  })");
  expect_derivatives(model, inputs_of(model));
}

TEST(FlowGradients, WhatReachesNothingHasNone) {
  const Model model = model_of(R"(graph g(x: f64[3], y: f64[3], on: bool[], n: i64[]) {
    param @w: f64[3]
    r = if(cond=on, captured=[x, y, n]) region then(a: f64[3], b: f64[3], c: i64[]) {
      d = mul(a=b, b=@w)
      return a, d, c
    } region else(e: f64[3], f: f64[3], g: i64[]) { return e, f, g }
    return r, r.out2
  })");
  Tensors inputs = inputs_of(model);
  inputs["on"] = truth(true);
  inputs["n"] = number(4);
  expect_derivatives(model, inputs, {"y", "@w"});
}

// ---- scans

/// Two states that mix, one that does not change, two scanned values and two stacked results. One parameter is
/// captured, one is read inside only, and one is read inside and outside.
constexpr const char* kScan = R"(graph scan(x: f64[5, 3], y: f64[5], h: f64[3], k: f64[3], g: f64[3]) {
  param @w: f64[3]
  param @v: f64[3]
  param @b: f64[3]
  begin = mul(a=h, b=@w)
  s = scan(values=[begin, k, g, x, y, @b]) {states: 3, scanned: 2}
    region body(c: f64[3], d: f64[3], same: f64[3], row: f64[3], one: f64[], bias: f64[3]) {
      e = mul(a=row, b=@w)
      f = add(a=e, b=d)
      i = mul(a=f, b=one)
      j = add(a=i, b=bias)
      l = sin(x=j)
      m = mul(a=c, b=@v)
      n = mul(a=l, b=same)
      o = add(a=m, b=n)
      p = mul(a=o, b=c)
      return o, l, same, p, l
  }
  return s, s.out2, s.out3, last = s.out4
})";

TEST(FlowGradients, OfAScan) {
  const Model model = model_of(kScan);
  expect_derivatives(model, inputs_of(model));
}

TEST(FlowGradients, OfAScanThroughItsRowsAlone) {
  const Model model = model_of(R"(graph g(x: f64[4, 3]) {
    param @w: f64[3]
    s = scan(values=[x]) {states: 0, scanned: 1} region body(row: f64[3]) {
      a = mul(a=row, b=@w)
      b = sin(x=a)
      return b
    }
    return s
  })");
  expect_derivatives(model, inputs_of(model));
}

/// The last value of state a is not read, but its previous value is in state b.
TEST(FlowGradients, OfAStateThatAnotherOneReads) {
  const Model model = model_of(R"(graph g(x: f64[4, 3], a: f64[3], b: f64[3], c: f64[3]) {
    param @w: f64[3]
    s = scan(values=[a, b, c, x]) {states: 3, scanned: 1}
      region body(d: f64[3], e: f64[3], f: f64[3], row: f64[3]) {
        g = mul(a=d, b=@w)
        h = add(a=g, b=row)
        i = mul(a=e, b=d)
        j = mul(a=f, b=row)
        return h, i, j
    }
    return s.out1
  })");
  expect_derivatives(model, inputs_of(model), {"c"});
}

// ---- loops

/// Iterates while the sum of v is below a bound that the network computes.
constexpr const char* kLoop = R"(graph loop(x: f64[3], limit: f64[], k: f64[]) {
  param @w: f64[3]
  const @zero: i64[]
  const @one: i64[]
  bound = mul(a=limit, b=limit)
  begun = reduce_sum(x=x) {axes: [], keep_dims: false}
  flat = reshape(x=begun) {dims: []}
  go = less(a=flat, b=bound)
  l = while(cond=go, values=[@zero, x, k, bound, k]) {states: 3}
    region body(i: i64[], v: f64[3], factor: f64[], most: f64[], add: f64[]) {
      j = add(a=i, b=@one)
      a = mul(a=v, b=@w)
      b = mul(a=a, b=a)
      c = add(a=b, b=add)
      d = add(a=c, b=v)
      e = mul(a=factor, b=add)
      f = sin(x=e)
      s = reduce_sum(x=d) {axes: [], keep_dims: false}
      t = reshape(x=s) {dims: []}
      more = less(a=t, b=most)
      return more, j, d, f
  }
  return l, l.out1, l.out2
})";

Model loop() {
  Model model = model_of(kLoop);
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  return model;
}

/// A counter that is converted to float, and a state that does not depend on the variables. Neither has a gradient, and
/// none is requested.
TEST(FlowGradients, IntegersHaveNone) {
  Model model = model_of(R"(graph g(x: f64[3], n: i64[]) {
    param @w: f64[3]
    const @zero: i64[]
    const @one: i64[]
    const @half: f64[3]
    go = less(a=@zero, b=n)
    l = while(cond=go, values=[@zero, x, @half, n]) {states: 3}
      region body(i: i64[], v: f64[3], u: f64[3], last: i64[]) {
        j = add(a=i, b=@one)
        c = cast(x=j) {to: "f64"}
        a = mul(a=v, b=@w)
        d = hardmax(x=u)
        b = mul(a=a, b=c)
        e = add(a=b, b=d)
        more = less(a=j, b=last)
        return more, j, e, d
    }
    m = cast(x=l) {to: "f64"}
    y = mul(a=l.out1, b=m)
    return y
  })");
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  Tensors inputs = inputs_of(model);
  inputs["n"] = number(3);
  expect_derivatives(model, inputs);
}

TEST(FlowGradients, OfALoopWhoseEndIsData) {
  const Model model = loop();
  Tensors inputs = inputs_of(model);
  inputs["k"] = real(0.3);
  for (const auto& [limit, iterations] : std::map<double, int64_t>{{0, 0}, {1, 1}, {1.5, 2}, {4, 3}}) {
    inputs["limit"] = real(limit);
    inputs["x"] = Tensor::of<double>(DType::f64, {3}, std::array{0.25, 0.5, 0.125});
    EXPECT_EQ(run(model, inputs).at("l").data<int64_t>()[0], iterations) << limit;
    expect_derivatives(model, inputs, {"limit"});
  }
}

/// A branch in a scan in a loop, with parameters at every depth.
TEST(FlowGradients, OfRegionsInsideEachOther) {
  Model model = model_of(R"(graph nested(x: f64[4, 3], h: f64[3], n: i64[]) {
    param @w: f64[3]
    param @v: f64[3]
    param @u: f64[]
    const @zero: i64[]
    const @one: i64[]
    const @half: f64[]
    go = less(a=@zero, b=n)
    l = while(cond=go, values=[@zero, h, x, n]) {states: 2}
      region body(i: i64[], v: f64[3], rows: f64[4, 3], last: i64[]) {
        j = add(a=i, b=@one)
        more = less(a=j, b=last)
        s = scan(values=[v, rows]) {states: 1, scanned: 1} region body(c: f64[3], row: f64[3]) {
          p = mul(a=row, b=@v)
          q = add(a=p, b=c)
          t = reduce_sum(x=q) {axes: [], keep_dims: false}
          r = reshape(x=t) {dims: []}
          above = less(a=@half, b=r)
          b = if(cond=above, captured=[q]) region then(d: f64[3]) {
            e = mul(a=d, b=@w)
            return e
          } region else(f: f64[3]) {
            g = sin(x=f)
            k = mul(a=g, b=@u)
            return k
          }
          return b, b
        }
        m = reduce_sum(x=s.out1) {axes: [0], keep_dims: false}
        o = mul(a=m, b=@u)
        z = tanh(x=o)
        return more, j, z
    }
    out = mul(a=l.out1, b=@w)
    return out
  })");
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  model.tensors["half"] = real(0.1);
  expect_derivatives_after(model, {0, 1, 3});
}

// ---- comparison with the same network without a loop

constexpr const char* kCounted = R"(graph counted(v0: f64[3], p: f64[3], n: i64[]) {
  param @w: f64[3]
  const @zero: i64[]
  const @one: i64[]
  go = less(a=@zero, b=n)
  l = while(cond=go, values=[@zero, v0, p, n]) {states: 2}
    region body(i: i64[], v: f64[3], q: f64[3], last: i64[]) {
      j = add(a=i, b=@one)
      a = mul(a=v, b=@w)
      b = sin(x=a)
      c = add(a=b, b=q)
      more = less(a=j, b=last)
      return more, j, c
  }
  return out = l.out1
})";

Model unrolled(int64_t count) {
  std::string text = "graph unrolled(v0: f64[3], p: f64[3], n: i64[]) { param @w: f64[3]\n";
  for (int64_t i = 0; i < count; ++i)
    text += fmt::format("a{0} = mul(a=v{0}, b=@w) b{0} = sin(x=a{0}) v{1} = add(a=b{0}, b=p)\n", i, i + 1);
  return model_of(text + fmt::format("return out = v{} }}", count));
}

void expect_close(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.type(), expected.type());
  for (size_t i = 0; i < found.data<double>().size(); ++i) {
    const double wanted = expected.data<double>()[i];
    EXPECT_NEAR(found.data<double>()[i], wanted, 1e-13 * std::max(1.0, std::fabs(wanted))) << i;
  }
}

/// Gradients of states have the same bits. Sums over iterations add in another order.
TEST(FlowGradients, AreThoseOfTheUnrolledLoop) {
  Model model = model_of(kCounted);
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  model.tensors["w"] = Tensor::of<double>(DType::f64, {3}, std::array{0.9, -1.1, 1.01});
  for (const int64_t count : {1, 2, 31, 32, 33, 34, 63, 64, 65, 100, 128, 129, 300, 1000}) {
    Model straight = unrolled(count);
    straight.tensors["w"] = model.tensors["w"];
    Tensors inputs = inputs_of(model);
    inputs["n"] = number(count);
    const Tensors found = gradients_of(model, inputs), expected = gradients_of(straight, inputs);
    EXPECT_TRUE(found.at("v0").same_bits(expected.at("v0"))) << count;
    expect_close(found.at("p"), expected.at("p"));
    expect_close(found.at("@w"), expected.at("@w"));
  }
}

// ---- extents that are only known at run time

TEST(FlowGradients, OfRowsWhoseNumberARunDecides) {
  Model model = model_of(R"(graph rows(x: f64[3], n: i64[]) {
    param @w: f64[3]
    const @zero: i64[]
    const @one: i64[]
    go = less(a=@zero, b=n)
    l = while(cond=go, values=[@zero, x, n]) {states: 2} region body(i: i64[], v: f64[3], last: i64[]) {
      w = mul(a=v, b=@w)
      j = add(a=i, b=@one)
      more = less(a=j, b=last)
      return more, j, w, w
    }
    y = sin(x=l.out2)
    z = mul(a=y, b=@w)
    total = reduce_sum(x=z) {axes: [0], keep_dims: false}
    out = add(a=total, b=x)
    return out
  })");
  model.tensors["zero"] = number(0);
  model.tensors["one"] = number(1);
  expect_derivatives_after(model, {0, 1, 5});
}

TEST(FlowGradients, OfAStateThatGrows) {
  Model model = model_of(R"(graph growing(x: f64[1, 3], n: i64[]) {
    param @w: f64[3]
    const @one: i64[]
    first = less(a=@one, b=n)
    l = while(cond=first, values=[@one, x, x, n]) {states: 2}
      region body(i: i64[], v: f64[?, 3], row: f64[1, 3], last: i64[]) {
        a = mul(a=v, b=@w)
        w = concat(x=[a, row]) {axis: 0}
        j = add(a=i, b=@one)
        more = less(a=j, b=last)
        return more, j, w
    }
    s = sin(x=l.out1)
    t = reduce_sum(x=s) {axes: [0], keep_dims: true}
    return t
  })");
  model.tensors["one"] = number(1);
  expect_derivatives_after(model, {1, 4});
}

// ---- refusals

TEST(FlowGradients, ErrorsNameThePath) {
  Model model = model_of(R"(graph g(x: f32[4, 3], on: bool[]) {
    param @w: f32[3]
    s = scan(values=[x, on]) {states: 0, scanned: 1} region body(row: f32[3], p: bool[]) {
      m = mul(a=row, b=@w)
      r = if(cond=p, captured=[m]) region then(a: f32[3]) { h = hardmax(x=a) return h } region else(b: f32[3]) { return b }
      return r
    }
    return s
  })");
  EXPECT_EQ(diagnostic_of([&] {
              passes::autodiff(
                  model, {{model.graph.outputs()[0], model.graph.add_argument("seed", {DType::f32, {4, 3}})}}, {"w"});
            }),
            placed(errors::operator_without_gradient("test.ir:5: scan 's': if 'r': node 'h'", "hardmax",
                                                     ": its result does not change with small changes of x"),
                   "h", ""));
}

/// Gradients of a value that reads the last state, and of one that is stacked in each iteration.
TEST(FlowGradients, StatesThatHoldCodesAreRefusedByName) {
  for (const std::string asked : {"r", "l.out2"}) {
    Model model = model_of(R"(graph g(x: f32[4], n: i64[]) {
    param @w: f32[4]
    const @scale: f32[1]
    const @zero_point: i32[1]
    const @one: i64[]
    c = quantize(x, scale=@scale, zero_point=@zero_point)
    go = less(a=@one, b=n)
    l = while(cond=go, values=[@one, c, n]) {states: 2} region body(i: i64[], codes: u8[4], last: i64[]) {
      d = dequantize(codes, scale=@scale, zero_point=@zero_point)
      m = mul(a=d, b=@w)
      q = fake_quantize(x=m, scale=@scale, zero_point=@zero_point)
      k = quantize(q, scale=@scale, zero_point=@zero_point)
      j = add(a=i, b=@one)
      more = less(a=j, b=last)
      return more, j, k, q
    }
    r = dequantize(l.out1, scale=@scale, zero_point=@zero_point)
    return r, l.out2
  })");
    const Value of = model.graph.value(asked);
    const Value seed = model.graph.add_argument("seed", of.type());
    EXPECT_EQ(diagnostic_of([&] {
                passes::autodiff(model, {{of, seed}}, {"w"});
              }),
              placed(errors::loop_state_without_gradient("while", "codes", "u8[4]"), "l", "test.ir:8: node 'l'"))
        << asked;
  }
}

}  // namespace
}  // namespace halfstep::testing_compile
