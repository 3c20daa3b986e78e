// Fetches, types, optimizations, kernels.
#include "halfstep/compile/compile.h"

#include <gtest/gtest.h>

#include "halfstep/compile/describe.h"
#include "halfstep/compile/evaluate.h"
#include "halfstep/compile/pipeline.h"
#include "halfstep/compile/select.h"
#include "tests/compile/support.h"

namespace halfstep {
namespace {

using namespace testing_compile;

constexpr const char* kSmall = R"(
graph small(x: f32[2, 3]) {
  param @w: f32[3]
  a = add(a=x, b=@w)
  r = relu(x=a)
  s = mul(a=r, b=r)
  return y = s
})";

std::map<std::string, Tensor> run(const Model& model, const CompileOptions& options = {}) {
  ThreadPool pool(2);
  return compile(model, options).run(inputs_of(model), pool);
}

TEST(Compile, ComputesWhatTheGraphSays) {
  const Model model = model_of(kSmall);
  const Tensor y = run(model).at("y");
  const Tensor x = inputs_of(model).at("x");
  const auto w = model.tensors.at("w").data<float>();
  for (size_t i = 0; i < 6; ++i) {
    const float r = std::max(x.data<float>()[i] + w[i % 3], 0.0f);
    EXPECT_EQ(y.data<float>()[i], r * r);
  }
}

TEST(Compile, AGraphWhoseTypesDisagreeIsNotLowered) {
  Model model = model_of(kSmall);
  model.graph.set_type(model.graph.arguments()[0], {DType::f32, {1, 3}});
  for (const bool optimize : {false, true}) {
    CompileOptions options;
    options.optimize = optimize;
    const std::string message = error_of([&] { compile(model, options); });
    EXPECT_NE(message.find("this is a bug"), std::string::npos) << message;
    EXPECT_NE(message.find("node 'a': output 'out' has type f32[2, 3], expected f32[1, 3]"), std::string::npos);
  }
}

TEST(Compile, ValuesThatNoMemoryHoldsAreRefused) {
  const Model model = model_of("graph g(x: f32[1]) {\n  y = expand(x) {dims: [1099511627776, 1024]}\n  return y\n}\n");
  const auto compiled = [&] { compile(model); };
  EXPECT_NE(error_of(compiled).find("test.ir:2: node 'y': y is f32[1099511627776, 1024], and this machine has memory"),
            std::string::npos)
      << error_of(compiled);
  EXPECT_EQ(test::kind_of(compiled), ErrorKind::unsupported);
}

TEST(Compile, FetchesOutputsValuesAndTensors) {
  const Model model = model_of(kSmall);
  CompileOptions options;
  options.fetch = {"y", "a", "r.out", "w", "x"};
  const auto outputs = run(model, options);
  ASSERT_EQ(outputs.size(), 5U);
  EXPECT_TRUE(outputs.at("y").same_bits(run(model).at("y")));
  EXPECT_TRUE(outputs.at("w").same_bits(model.tensors.at("w")));
  EXPECT_TRUE(outputs.at("x").same_bits(inputs_of(model).at("x")));
  EXPECT_EQ(outputs.at("a").dims(), (Dims{2, 3}));
}

/// Whatever the layout inside, values come out under their names as the graph has them, and no code moves.
TEST(Compile, ImagesOfCodesKeepTheirNamesAndCodes) {
  Model model = model_of(R"(graph g(x: u8[2, 3, 8, 8]) {
  param @w: i8[16, 3, 3, 3]
  param @b: i32[16]
  param @s: i32[1]
  c = integer_conv2d(x, w=@w, b=@b, shift=@s) {pad: [1, 1, 1, 1], x_zero_point: 7, y_zero_point: 99, requantize: "power_of_two"}
  m = max_pool2d(c) {kernel: [2, 2], stride: [2, 2]}
  return m
})");
  model.tensors.at("s").data<int32_t>()[0] = 6;
  for (size_t i = 0; i < model.tensors.at("w").data<int8_t>().size(); ++i)
    model.tensors.at("w").data<int8_t>()[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
  std::map<std::string, Tensor> inputs = inputs_of(model);
  for (size_t i = 0; i < inputs.at("x").data<uint8_t>().size(); ++i)
    inputs.at("x").data<uint8_t>()[i] = static_cast<uint8_t>(i * 91);
  CompileOptions plain, fast;
  plain.fetch = fast.fetch = {"c", "m"};
  plain.disabled_passes = {"channels_last_codes"};
  const std::string instructions = listing(compile(model, fast));
  EXPECT_EQ(instructions.find("channels_last_integer_conv2d c") != std::string::npos, fast.level >= CpuLevel::vnni)
      << instructions;
  ThreadPool pool(2);
  const auto want = compile(model, plain).run(inputs, pool), found = compile(model, fast).run(inputs, pool);
  for (const char* name : {"c", "m"}) EXPECT_TRUE(want.at(name).same_bits(found.at(name))) << name;
}

TEST(Compile, FetchingOneValueRunsOnlyWhatItNeeds) {
  CompileOptions options;
  options.fetch = {"a"};
  EXPECT_EQ(listing(compile(model_of(kSmall), options)), "add a");
}

TEST(Compile, RefusesUnknownFetch) {
  CompileOptions options;
  options.fetch = {"rr"};
  EXPECT_EQ(error_of([&] { compile(model_of(kSmall), options); }),
            "graph 'small': 'rr' is no output, value or tensor, did you mean 'r'?");
  options.fetch = {"a", "a"};
  EXPECT_EQ(error_of([&] { compile(model_of(kSmall), options); }),
            "graph 'small': two outputs are called 'a', expected one");
}

TEST(Compile, WantsKnownExtents) {
  const Model model = model_of("graph g(x: f32[?, 3]) { r = relu(x=x) return r }");
  EXPECT_EQ(error_of([&] { compile(model, {}); }),
            "graph 'g': argument 'x' is f32[?, 3], expected all extents known: specialize the model first");
  EXPECT_EQ(listing(compile(specialize(model, {{"x", {2, 3}}}), {})), "relu r");
}

TEST(Compile, WantsContentsOfTensors) {
  Model model = model_of(kSmall);
  model.tensors.at("w") = Tensor(DType::f32, {4});
  EXPECT_EQ(error_of([&] { compile(model, {}); }), "graph 'small': tensor 'w': found f32[4], expected f32[3]");
  model.tensors.clear();
  EXPECT_EQ(error_of([&] { compile(model, {}); }), "graph 'small': tensor 'w': found no contents, expected f32[3]");
}

TEST(Compile, DoesNotChangeTheModel) {
  const Model model = model_of(kSmall);
  const Graph before = model.graph;
  const Tensor w = model.tensors.at("w").clone();
  CompileOptions options;
  options.freeze_tensors = false;
  auto program = compile(model, options);
  program.set_tensor("w", Tensor(DType::f32, {3}));
  EXPECT_EQ(model.graph, before);
  EXPECT_TRUE(model.tensors.at("w").same_bits(w));
}

constexpr const char* kFoldable = R"(
graph g(x: f32[2, 3]) {
  const @c: f32[3]
  const @d: f32[3]
  cd = mul(a=@c, b=@d)
  a = add(a=x, b=cd)
  b = add(a=x, b=cd)
  dead = relu(x=x)
  y = mul(a=a, b=b)
  return y
})";

TEST(Compile, OptimizesAndEachOptimizationCanBeOff) {
  const Model model = model_of(kFoldable);
  EXPECT_EQ(listing(compile(model, {})), "add a, mul y");
  CompileOptions none;
  none.optimize = false;
  EXPECT_EQ(listing(compile(model, none)), "mul cd, add a, add b, relu dead, mul y");
  const Tensor expected = run(model, none).at("y");
  for (const PassInfo& pass : optimization_passes()) {
    CompileOptions options;
    options.disabled_passes = {pass.name};
    EXPECT_TRUE(run(model, options).at("y").same_bits(expected)) << pass.name;
  }
  CompileOptions no_folding;
  no_folding.disabled_passes = {"fold_constants"};
  EXPECT_EQ(listing(compile(model, no_folding)), "mul cd, add a, mul y");
  CompileOptions unknown;
  unknown.disabled_passes = {"ces"};
  EXPECT_EQ(error_of([&] { compile(model, unknown); }), "'ces' is not an optimization, did you mean 'cse'?");
}

TEST(Compile, RecordsWhyKernelsRefuse) {
  CompileOptions options;
  options.level = CpuLevel::scalar;
  const auto program = compile(model_of(kSmall), options);
  for (const runtime::Instruction& instruction : program.instructions()) {
    EXPECT_STREQ(instruction.kernel->name, "reference") << instruction.name;
    EXPECT_FALSE(instruction.refused.empty()) << instruction.name;
  }
  EXPECT_NE(describe_kernels(program).find("not simd: the scalar level was asked for"), std::string::npos);
}

TEST(Compile, SaysWhenNoKernelDoesIt) {
  const Model model = model_of("graph g(x: f32[3]) { r = bit_cast(x=x) {to: \"f64\"} return r }");
  const std::string error = error_of([&] { compile(model, {}); });
  EXPECT_EQ(error.rfind("test.ir:1: node 'r': bit_cast: no kernel on cpu does this (", 0), 0U) << error;
  EXPECT_NE(error.find("reference: "), std::string::npos) << error;
}

/// The reference is the last candidate of the CPU and the only one of sim.
TEST(Compile, DevicesHaveKernelsOfTheirOwn) {
  const auto cpu = compiler::candidates(kCpu, "relu"), sim = compiler::candidates(kSim, "relu");
  ASSERT_FALSE(cpu.empty());
  EXPECT_STREQ(cpu.back()->name, "reference");
  EXPECT_EQ(sim, (std::vector<const kernels::Kernel*>{cpu.back()}));
  EXPECT_EQ(compiler::candidates({DeviceKind::cuda, 0}, "relu").size(), kernels::cuda_kernels("relu").size());
  for (const Place place : {kCpu, kSim}) EXPECT_TRUE(compiler::candidates(place, "nothing").empty());
}

TEST(Compile, OneOperationIsEvaluatedByItsReference) {
  const Graph graph = parse("graph g(x: f32[2]) { r = relu(x=x) b = bit_cast(x=x) {to: \"f64\"} return r, b }");
  Tensor x(DType::f32, {2});
  x.data<float>()[0] = -1.0F;
  x.data<float>()[1] = 2.0F;
  EXPECT_EQ(compiler::evaluate(graph.op("r"), {x}).at(0).data<float>()[1], 2.0F);
  EXPECT_EQ(compiler::evaluate(graph.op("r"), {x}).at(0).data<float>()[0], 0.0F);
  EXPECT_EQ(error_of([&] { compiler::evaluate(graph.op("b"), {x}); }),
            "text:1: node 'b': bit_cast: f32 and f64 differ in size");
}

TEST(Compile, SameResultsOnSim) {
  const Model model = model_of(kSmall);
  CompileOptions options;
  options.place = kSim;
  EXPECT_TRUE(run(model, options).at("y").same_bits(run(model).at("y")));
}

}  // namespace
}  // namespace halfstep
