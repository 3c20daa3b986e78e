// The transfers that constraints force, and no others.
#include "halfstep/engine/compile/placement.h"

#include <gtest/gtest.h>

#include "halfstep/engine/compile/describe.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/runtime/errors.h"
#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

constexpr const char* kQuantizer = R"(
graph notes(x: f32[8, 16, 6, 6]) {
  state @scale: f32[1]
  state @accum: f32[1]
  state @count: f32[1]
  q = fake_quantize_dequantize_moving_average_abs_max(x=x, in_scale=@scale, in_accum=@accum, in_state=@count)
  return q, scale = q.out_scale
})";

constexpr const char* kQuantizerInTest = R"(
graph notes(x: f32[8, 16, 6, 6]) {
  state @scale: f32[1]
  q = fake_quantize_dequantize_moving_average_abs_max(x=x, in_scale=@scale) {is_test: true}
  return q
})";

CompileOptions on_sim() {
  CompileOptions options;
  options.place = kSim;
  return options;
}

Model quantizer() {
  Model model = model_of(kQuantizer);
  for (auto& [name, tensor] : model.tensors) tensor = Tensor::scalar(1.0f);
  return model;
}

TEST(Placement, QuantizerFedFromTheHostWithTwoFetches) {
  const Model model = quantizer();
  const auto inputs = inputs_of(model);
  ThreadPool pool(2);
  auto on_host = compile(model, {});
  EXPECT_EQ(listing(on_host), "fake_quantize_dequantize_moving_average_abs_max q");
  auto program = compile(model, on_sim());
  EXPECT_EQ(
      listing(program),
      "transfer x:sim, fake_quantize_dequantize_moving_average_abs_max q, transfer q:cpu, transfer q.out_scale:cpu");
  for (int step = 0; step < 3; ++step) {
    const auto expected = on_host.run(inputs, pool), found = program.run(inputs, pool);
    EXPECT_TRUE(found.at("q").same_bits(expected.at("q")));
    EXPECT_TRUE(found.at("scale").same_bits(expected.at("scale")));
    EXPECT_TRUE(program.tensor("scale").same_bits(found.at("scale")));
    EXPECT_TRUE(program.tensor("accum").same_bits(on_host.tensor("accum")));
  }
  EXPECT_GT(program.tensor("count").data<float>()[0], 2.0f);
}

TEST(Placement, InspectListsIt) {
  const Model model = quantizer();
  EXPECT_EQ(describe(model.graph, plan_program(model, on_sim()), true), R"(network notes
  input x: f32[8, 16, 6, 6]
  state @accum: f32[1]
  state @count: f32[1]
  state @scale: f32[1]
  q = fake_quantize_dequantize_moving_average_abs_max(x = x: f32[8, 16, 6, 6], in_scale = @scale: f32[1], in_accum = @accum: f32[1], in_state = @count: f32[1]) -> out = q: f32[8, 16, 6, 6], out_scale = q.out_scale: f32[1], out_state = q.out_state: f32[1], out_accum = q.out_accum: f32[1]  at test.ir:6
  output q = q: f32[8, 16, 6, 6]
  output scale = q.out_scale: f32[1]

instructions
    0  cpu -> sim   copy       x:sim = transfer(x = x) -> out = x:sim  at test.ir:6
    1  sim          reference  q = fake_quantize_dequantize_moving_average_abs_max(x = x:sim, in_scale = scale, in_accum = accum, in_state = count) -> out = q, out_scale = q.out_scale, out_state = q.out_state, out_accum = q.out_accum  at test.ir:6
    2  sim -> cpu   copy       q:cpu = transfer(x = q) -> out = q:cpu  at test.ir:6
    3  sim -> cpu   copy       q.out_scale:cpu = transfer(x = q.out_scale) -> out = q.out_scale:cpu  at test.ir:6

values
    0  x                        f32[8, 16, 6, 6]     cpu   input x                  18432 bytes  start to 0
    1  scale                    f32[1]               sim   tensor scale                 4 bytes  start to 1
    2  accum                    f32[1]               sim   tensor accum                 4 bytes  start to 1
    3  count                    f32[1]               sim   tensor count                 4 bytes  start to 1
    4  x:sim                    f32[8, 16, 6, 6]     sim   arena at 0               18432 bytes  0 to 1
    5  q                        f32[8, 16, 6, 6]     sim   arena at 18432           18432 bytes  1 to 2
    6  q.out_scale              f32[1]               sim   tensor scale                 4 bytes  1 to 3
    7  q.out_state              f32[1]               sim   tensor count                 4 bytes  1 to 1
    8  q.out_accum              f32[1]               sim   tensor accum                 4 bytes  1 to 1
    9  q:cpu                    f32[8, 16, 6, 6]     cpu   output q                 18432 bytes  2 to end
   10  q.out_scale:cpu          f32[1]               cpu   output scale                 4 bytes  3 to end
arena on sim: 36864 bytes
memory: planned peak 36864 bytes, naive sum 36864 bytes, tensors 12 bytes

dependencies
    0  x:sim: ready
    1  q: reads 0
    2  q:cpu: reads 1
    3  q.out_scale:cpu: reads 1

kernels
    0  x:sim: transfer copy on sim
    1  q: fake_quantize_dequantize_moving_average_abs_max reference on sim, pieces 1
    2  q:cpu: transfer copy on cpu
    3  q.out_scale:cpu: transfer copy on cpu
)");
}

TEST(Placement, FetchOfAnAbsentOutputIsNamedBeforeAnythingRuns) {
  const Model model = model_of(kQuantizerInTest);
  CompileOptions options = on_sim();
  options.fetch = {"q", "q.out_scale"};
  EXPECT_EQ(diagnostic_of([&] { compile(model, options); }),
            errors::output_not_produced("test.ir:4: node 'q'", "out_scale", " when is_test is true"));
}

TEST(Placement, InTestItsScaleIsFrozen) {
  const auto program = compile(model_of(kQuantizerInTest), on_sim());
  EXPECT_EQ(listing(program), "transfer x:sim, fake_quantize_dequantize_moving_average_abs_max q, transfer q:cpu");
  EXPECT_TRUE(program.spec().tensors[0].frozen);
}

TEST(Placement, AValueIsTransferredOnceToAPlace) {
  const Model model = model_of(R"(
graph g(x: f32[4]) {
  a = relu(x=x)
  b = add(a=x, b=a)
  return a, again = a, b, x
})");
  EXPECT_EQ(listing(compile(model, on_sim())), "transfer x:sim, relu a, add b, transfer a:cpu, transfer b:cpu");
}

TEST(Placement, FrozenTensorsAreNeverTransferred) {
  const Model model = model_of(R"(
graph g(x: f32[4]) {
  param @w: f32[4]
  a = add(a=x, b=@w)
  t = transfer(x=a) {to: "cpu"}
  b = mul(a=t, b=@w)
  return b
})");
  const auto program = compile(model, on_sim());
  EXPECT_EQ(listing(program), "transfer x:sim, add a, transfer t, mul b");
  EXPECT_EQ(program.spec().tensors.size(), 2U);
}

TEST(Placement, TensorsThatMayChangeAreTransferred) {
  const Model model = model_of(R"(
graph g(x: f32[4]) {
  param @w: f32[4]
  a = add(a=x, b=@w)
  t = transfer(x=a) {to: "cpu"}
  b = mul(a=t, b=@w)
  return b
})");
  CompileOptions options = on_sim();
  options.freeze_tensors = false;
  auto program = compile(model, options);
  EXPECT_EQ(listing(program), "transfer x:sim, add a, transfer t, transfer w:cpu, mul b");
  ThreadPool pool(2);
  const auto inputs = inputs_of(model);
  EXPECT_TRUE(program.run(inputs, pool).at("b").same_bits(compile(model, {}).run(inputs, pool).at("b")));
  program.set_tensor("w", Tensor(DType::f32, {4}));
  EXPECT_EQ(program.run(inputs, pool).at("b").data<float>()[0], 0.0f);
}

TEST(Placement, InputsAndOutputsOnTheDeviceNeedNone) {
  const Model model = model_of("graph g(x: f32[4]) { a = relu(x=x) return a }");
  CompileOptions options = on_sim();
  options.input_places = {{"x", kSim}};
  options.output_places = {{"a", kSim}};
  auto program = compile(model, options);
  EXPECT_EQ(listing(program), "relu a");
  ThreadPool pool(1);
  const auto inputs = inputs_of(model);
  EXPECT_TRUE(program.run(inputs, pool).at("a").same_bits(compile(model, {}).run(inputs, pool).at("a")));
}

/// A user's transfer to the device stays in force up to the output, although everything else runs on the host.
TEST(Placement, AnExplicitTransferIsNotUndone) {
  const Model model = model_of("graph g(x: f32[4]) { t = transfer(x=x) {to: \"sim\"} return t }");
  auto program = compile(model, {});
  EXPECT_EQ(listing(program), "transfer t");
  EXPECT_EQ(program.spec().slots[static_cast<size_t>(program.spec().outputs[0].slot)].place, kSim);
  ThreadPool pool(1);
  const auto inputs = inputs_of(model);
  EXPECT_TRUE(program.run(inputs, pool).at("t").same_bits(inputs.at("x")));
}

TEST(Placement, ChainsFromPlaceToPlace) {
  const Model model = model_of(R"(
graph g(x: f32[4]) {
  a = transfer(x=x) {to: "sim"}
  b = relu(x=a)
  c = transfer(x=b) {to: "cpu"}
  d = add(a=c, b=x)
  e = transfer(x=d) {to: "sim"}
  f = transfer(x=e) {to: "sim"}
  g = mul(a=f, b=b)
  return g
})");
  auto program = compile(model, {});
  EXPECT_EQ(listing(program), "transfer a, relu b, transfer c, add d, transfer e, mul g, transfer g:cpu");
  EXPECT_EQ(program.instructions()[1].place, kSim);
  EXPECT_EQ(program.instructions()[3].place, kCpu);
  EXPECT_EQ(program.instructions()[5].place, kSim);
  ThreadPool pool(2);
  const auto inputs = inputs_of(model);
  const auto x = inputs.at("x").data<float>();
  const Tensor found = program.run(inputs, pool).at("g");
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(found.data<float>()[i], (std::max(x[i], 0.0f) + x[i]) * std::max(x[i], 0.0f));
}

TEST(Placement, ConflictsNameBothSides) {
  EXPECT_EQ(diagnostic_of([] {
              CompileOptions options;
              options.output_places = {{"y", kCpu}};
              compile(model_of("graph g(x: f32[4]) { t = transfer(x=x) {to: \"sim\"} return y = t }"), options);
            }),
            errors::output_on_another_device("test.ir:1: node 't'", "y", "cpu", "sim"));
  EXPECT_EQ(diagnostic_of([] {
              compile(model_of(R"(graph g(x: f32[4]) {
  s = transfer(x=x) {to: "sim"}
  c = transfer(x=x) {to: "cpu"}
  a = relu(x=s)
  b = add(a=a, b=c)
  return b
})"),
                      {});
            }),
            errors::operands_on_different_devices("test.ir:5: node 'b'", "a", "sim", "s", "c", "cpu", "c"));
}

TEST(Placement, DynamicValuesStayOnTheHost) {
  const Model model = model_of(R"(graph g(x: f32[2], n: i64[]) {
  const @zero: i64[]
  go = less(a=@zero, b=n)
  l = while(cond=go, values=[x, n]) {states: 1} region body(v: f32[2], last: i64[]) {
    more = less(a=last, b=last)
    return more, v, v
  }
  s = relu(x=l.out1)
  return l, s
})");
  CompileOptions options;
  options.output_places = {{"s", kSim}};
  EXPECT_EQ(name_of([&] { compile(model, options); }), "dynamic_value_on_device");
}

TEST(Placement, ATensorOfARegionIsOnOneDevice) {
  const Model model = model_of(R"(graph g(x: f32[4], on: bool[], rate: f32[1]) {
  state @w: f32[4]
  state @v: f32[4]
  r = if(cond=on, captured=[x]) region then(a: f32[4]) { c = add(a=a, b=@w) return c } region else(b: f32[4]) { return b }
  t = transfer(x=x) {to: "sim"}
  step = sgd_momentum(param=@w, grad=t, velocity=@v, learning_rate=rate)
  return r, step
})");
  EXPECT_EQ(name_of([&] { compile(model, {}); }), "tensor_updated_elsewhere");
}

TEST(Placement, ConstraintsMustNameWhatIsThere) {
  const Model model = model_of("graph g(x: f32[4]) { a = relu(x=x) return result = a }");
  CompileOptions options;
  options.input_places = {{"xx", kSim}};
  EXPECT_EQ(diagnostic_of([&] { compile(model, options); }),
            errors::place_for_unknown_name("g", "xx", "argument", ", did you mean 'x'?"));
  options = {};
  options.output_places = {{"resul", kSim}};
  EXPECT_EQ(diagnostic_of([&] { compile(model, options); }),
            errors::place_for_unknown_name("g", "resul", "output", ", did you mean 'result'?"));
  EXPECT_EQ(
      diagnostic_of([] { compile(model_of("graph g(x: f32[4]) { t = transfer(x=x) {to: \"gpu\"} return t }"), {}); }),
      errors::transfer_to_unknown_device("test.ir:1: node 't'", "'gpu'"));
  options = {};
  options.place = {DeviceKind::cuda, 0};
  EXPECT_EQ(diagnostic_of([&] { compile(model, options); }), errors::device_not_in_build("cuda:0"));
  options = {};
  options.output_places = {{"result", {DeviceKind::cuda, 1}}};
  EXPECT_EQ(diagnostic_of([&] { compile(model, options); }), errors::device_not_in_build("cuda:1"));
}

}  // namespace
}  // namespace halfstep
