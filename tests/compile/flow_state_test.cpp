// State updates inside regions, in programs that run the regions backwards: each update happens once, and not again
// when something is recomputed.
#include <gtest/gtest.h>

#include <array>

#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/passes/gradient/autodiff.h"
#include "tests/compile/support.h"
#include "tests/support/scalars.h"

namespace halfstep::testing_compile {
namespace {

using test::number;
using test::truth;

constexpr const char* kStates = "param @w: f32[4] state @scale: f32[1] state @accum: f32[1] state @count: f32[1]\n";

/// A quantizer of row times @w with a scale that moves. `next` names the operands for its state.
std::string quantizer(const std::string& name, const std::string& row, const std::array<std::string, 3>& state) {
  return fmt::format(
      "{0}.a = mul(a={1}, b=@w) {0} = fake_quantize_dequantize_moving_average_abs_max(x={0}.a, in_scale={2}, "
      "in_accum={3}, in_state={4}) {{bit_length: 4}}\n",
      name, row, state[0], state[1], state[2]);
}

const std::array<std::string, 3> kTensors = {"@scale", "@accum", "@count"};

/// Processes the rows of x one after the other, without regions.
Model straight_quantizers() {
  std::string text = fmt::format("graph straight(x: f32[6, 4], c0: f32[4]) {{ {}", kStates);
  std::array<std::string, 3> state = kTensors;
  for (int i = 0; i < 6; ++i) {
    const std::string q = fmt::format("q{}", i);
    text += fmt::format(
        "s{0} = slice(x=x) {{starts: [{0}], ends: [{1}], axes: [0]}} r{0} = reshape(x=s{0}) {{dims: [4]}}\n", i, i + 1);
    text += quantizer(q, fmt::format("r{}", i), state);
    text += fmt::format("m{0} = mul(a=q{0}, b=c{0}) c{1} = add(a=m{0}, b=q{0})\n", i, i + 1);
    state = {q + ".out_scale", q + ".out_accum", q + ".out_state"};
  }
  return model_of(text +
                  fmt::format("return out = c6, scale = {}, accum = {}, count = {} }}", state[0], state[1], state[2]));
}

/// The network of straight_quantizers, with regions.
Model looped_quantizers(const std::string& regions) {
  return model_of(
      fmt::format("graph looped(x: f32[6, 4], c0: f32[4]) {{ {} const @zero: i64[] const @one: i64[] "
                  "const @two: i64[] const @yes: bool[]\n{}",
                  kStates, regions));
}

std::vector<float> floats(const Tensor& tensor) { return {tensor.data<float>().begin(), tensor.data<float>().end()}; }

Tensors with_contents(Model& model) {
  for (const char* name : {"scale", "accum", "count"}) {
    if (model.tensors.contains(name)) model.tensors[name] = Tensor::scalar(0.5F);
  }
  const std::map<std::string, Tensor> constants = {
      {"zero", number(0)}, {"one", number(1)}, {"two", number(2)}, {"yes", truth(true)}};
  for (const auto& [name, contents] : constants) {
    if (model.tensors.contains(name)) model.tensors[name] = contents;
  }
  model.tensors["w"] = random_tensor({DType::f32, {4}}, 3);
  return {{"x", random_tensor({DType::f32, {6, 4}}, 4)}, {"c0", random_tensor({DType::f32, {4}}, 5)}};
}

std::string cell(const std::string& row, const std::string& state) {
  return quantizer("q", row, kTensors) + fmt::format("m = mul(a=q, b={0}) n = add(a=m, b=q)\n", state);
}

const std::string kPlainScan =
    "s = scan(values=[c0, x]) {states: 1, scanned: 1} region body(c: f32[4], row: f32[4]) { " + cell("row", "c") +
    "return n }\n return out = s }";

const std::string kBranchInScan =
    "s = scan(values=[c0, x, @yes]) {states: 1, scanned: 1} region body(c: f32[4], row: f32[4], on: bool[]) {\n"
    "i = if(cond=on, captured=[c, row]) region then(d: f32[4], e: f32[4]) { " +
    cell("e", "d") + "return n } region else(f: f32[4], g: f32[4]) { return f }\n return i }\n return out = s }";

const std::string kScanInCallInLoop =
    "h = reshape(x=x) {dims: [2, 3, 4]} l = while(cond=@yes, values=[@zero, c0, h]) {states: 2}\n"
    "region body(i: i64[], c: f32[4], all: f32[2, 3, 4]) {\n"
    "j = add(a=i, b=@one) more = less(a=j, b=@two) part = gather(x=all, indices=i) {axis: 0}\n"
    "k = call(captured=[c, part]) region body(d: f32[4], rows: f32[3, 4]) {\n"
    "s = scan(values=[d, rows]) {states: 1, scanned: 1} region body(e: f32[4], row: f32[4]) { " +
    cell("row", "e") + "return n }\n return s }\n return more, j, k }\n return out = l.out1 }";

/// Recomputed iterations read the scales that the first pass read, and do not change the state.
TEST(FlowGradients, StateIsUpdatedOnceAndReadAsItWas) {
  Model straight = straight_quantizers();
  const Tensors inputs = with_contents(straight);
  ThreadPool pool(2);
  const CompileOptions options{.freeze_tensors = false, .one_order = true};
  const Tensors ends = compile(straight, options).run(inputs, pool);
  Model differentiated = straight;
  const Value seed = differentiated.graph.add_argument("seed", {DType::f32, {4}});
  const auto gradients_in = [](Model& model, Value of) {
    std::vector<Value> outputs =
        passes::autodiff(model, {{model.graph.outputs()[0], of}},
                         {model.graph.tensor("w"), model.graph.arguments()[0], model.graph.arguments()[1]});
    model.graph.set_outputs(outputs, {"w", "x", "c0"});
    verify(model.graph);
  };
  gradients_in(differentiated, seed);
  Tensors seeded = inputs;
  seeded["seed"] = random_tensor({DType::f32, {4}}, 9);
  const Tensors expected = compile(differentiated, options).run(seeded, pool);
  for (const std::string& regions : {kPlainScan, kBranchInScan, kScanInCallInLoop}) {
    Model looped = looped_quantizers(regions);
    with_contents(looped);
    gradients_in(looped, looped.graph.add_argument("seed", {DType::f32, {4}}));
    runtime::Program program = compile(looped, options);
    const Tensors found = program.run(seeded, pool);
    for (const char* name : {"scale", "accum", "count"})
      EXPECT_TRUE(program.tensor(name).same_bits(ends.at(name))) << name << regions;
    EXPECT_TRUE(found.at("c0").same_bits(expected.at("c0"))) << regions;
    EXPECT_EQ(floats(found.at("x")), floats(expected.at("x"))) << regions;  // slices turn -0.0 into 0.0
    for (size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(found.at("w").data<float>()[i], expected.at("w").data<float>()[i], 1e-4) << regions;
  }
}

}  // namespace
}  // namespace halfstep::testing_compile
