// Fetched values, types, optimizations and kernels of compiled programs.
#include "halfstep/engine/compile/compile.h"

#include <gtest/gtest.h>

#include "halfstep/core/base/system_memory.h"
#include "halfstep/engine/compile/describe.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/engine/compile/pipeline.h"
#include "halfstep/engine/compile/select.h"
#include "halfstep/engine/kernels/errors.h"
#include "halfstep/engine/runtime/errors.h"
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
    EXPECT_EQ(name_of([&] { compile(model, options); }), "defect");
  }
}

TEST(Compile, ValuesThatNoMemoryHoldsAreRefused) {
  const Model model = model_of("graph g(x: f32[1]) {\n  y = expand(x) {dims: [1099511627776, 1024]}\n  return y\n}\n");
  const auto compiled = [&] { compile(model); };
  EXPECT_EQ(diagnostic_of(compiled),
            errors::value_exceeds_memory("test.ir:2: node 'y'", "y", "f32[1099511627776, 1024]",
                                         machine_memory() / sizeof(int64_t)));
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

/// Weights from -127 to 127.
void fill_weights(Tensor& weights) {
  int i = 0;
  for (int8_t& weight : weights.data<int8_t>()) weight = static_cast<int8_t>(i++ * 37 % 255 - 127);
}

void fill_codes(Tensor& codes) {
  int i = 0;
  for (uint8_t& code : codes.data<uint8_t>()) code = static_cast<uint8_t>(i++ * 91);
}

/// Whatever the internal layout is, values keep their names and the layout of the graph, and codes do not change.
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
  fill_weights(model.tensors.at("w"));
  std::map<std::string, Tensor> inputs = inputs_of(model);
  fill_codes(inputs.at("x"));
  CompileOptions plain, fast;
  plain.fetch = fast.fetch = {"c", "m"};
  plain.disabled_passes = {"channels_last_codes"};
  const std::string instructions = listing(compile(model, fast));
  EXPECT_EQ(instructions.find("transpose x.channels_last, integer_conv2d c") != std::string::npos,
            fast.level > CpuLevel::scalar)
      << instructions;
  ThreadPool pool(2);
  const auto want = compile(model, plain).run(inputs, pool), found = compile(model, fast).run(inputs, pool);
  for (const char* name : {"c", "m"}) EXPECT_TRUE(want.at(name).same_bits(found.at(name))) << name;
}

/// Zeros between the elements of a transposed convolution have the code of the zero point.
TEST(Compile, PhasesHaveTheCodesOfTransposedConvolutions) {
  Model model = model_of(R"(graph g(x: u8[2, 3, 5, 4]) {
  param @w: i8[4, 3, 3, 5]
  param @b: i32[4]
  param @s: i32[1]
  const @zero: u8[]
  apart = unsqueeze(x) {axes: [3, 5]}
  zeros = pad(apart, value=@zero) {pads: [0, 0, 1, 2], axes: [3, 5]}
  wide = reshape(zeros) {dims: [2, 3, 10, 12]}
  y = integer_conv2d(wide, w=@w, b=@b, shift=@s) {pad: [1, 3, 2, 0], x_zero_point: 7, y_zero_point: 99, requantize: "power_of_two"}
  return y
})");
  model.tensors.at("s").data<int32_t>()[0] = 6;
  model.tensors.at("zero").data<uint8_t>()[0] = 7;
  fill_weights(model.tensors.at("w"));
  std::map<std::string, Tensor> inputs = inputs_of(model);
  fill_codes(inputs.at("x"));
  CompileOptions plain;
  plain.disabled_passes = {"phase_convolutions"};
  auto phases = compile(model);
  EXPECT_EQ(listing(phases).find("pad zeros"), std::string::npos) << listing(phases);
  ThreadPool pool(2);
  EXPECT_TRUE(compile(model, plain).run(inputs, pool).at("y").same_bits(phases.run(inputs, pool).at("y")));
}

/// A scan whose state and rows are quantized in each iteration, whose rows are multiplied, and whose codes are stacked.
TEST(Compile, ScansOnCodesHaveTheCodesOfScansOnValues) {
  Model model = model_of(R"(graph g(x: u8[7, 2, 20], h: f32[2, 12]) {
  param @w: i8[12, 20]
  param @b: i32[12]
  const @scale: f32[1]
  const @zero: i32[1]
  param @s: i32[1]
  rows = dequantize(x=x, scale=@scale, zero_point=@zero)
  r = scan(values=[h, rows]) {states: 1, scanned: 1} region body(held: f32[2, 12], row: f32[2, 20]) {
    held.q = quantize(x=held, scale=@scale, zero_point=@zero)
    row.q = quantize(x=row, scale=@scale, zero_point=@zero)
    product = integer_linear(x=row.q, w=@w, b=@b, shift=@s) {x_zero_point: 7, requantize: "power_of_two"}
    sum = integer_add(a=held.q, b=product) {a_multiplier: 1073741824, b_multiplier: 536870912, shift: 31}
    next = dequantize(x=sum, scale=@scale, zero_point=@zero)
    return next, next
  }
  y = quantize(x=r.out1, scale=@scale, zero_point=@zero)
  return y, last = r
})");
  model.tensors.at("scale").data<float>()[0] = 0.037F;
  model.tensors.at("zero").data<int32_t>()[0] = 7;
  model.tensors.at("s").data<int32_t>()[0] = 6;
  fill_weights(model.tensors.at("w"));
  std::map<std::string, Tensor> inputs = inputs_of(model);
  fill_codes(inputs.at("x"));
  for (size_t i = 0; i < inputs.at("h").data<float>().size(); ++i)
    inputs.at("h").data<float>()[i] = static_cast<float>(i % 9) * 0.41F - 1;
  CompileOptions plain;
  plain.disabled_passes = {"coded_regions", "scan_products"};
  auto coded = compile(model), values = compile(model, plain);
  EXPECT_NE(listing(values).find("quantize y"), std::string::npos) << listing(values);
  EXPECT_EQ(listing(coded).find("quantize y"), std::string::npos) << listing(coded);
  EXPECT_NE(listing(coded).find("integer_linear"), std::string::npos) << listing(coded);
  ThreadPool pool(2);
  const auto want = values.run(inputs, pool), found = coded.run(inputs, pool);
  for (const char* name : {"y", "last"}) EXPECT_TRUE(want.at(name).same_bits(found.at(name))) << name;
}

/// Layers on one-byte and two-byte codes in two branches. Some parameters are constant, and one is an input of every
/// run. The images are pooled, added, flattened and dequantized by a float fallback.
constexpr const char* kMixed = R"(
graph mixed(x: u8[2, 8, 8, 8], bias: i32[8], rows: u16[3, 9]) {
  param @w: i8[8, 8, 3, 3]
  param @d: i8[8, 1, 3, 3]
  param @b: i32[8]
  param @f: f32[8]
  param @s: i32[1]
  param @ws: f32[1]
  param @v: i8[5, 8]
  param @vb: i32[5]
  param @one: f32[1]
  param @zero: i32[1]
  param @r: i8[20, 9]
  param @rb: i32[20]
  a = integer_conv2d(x, w=@w, b=@b, shift=@s) {pad: [1, 1, 1, 1], requantize: "power_of_two", code_type: "u16", code_max: 4095}
  c = integer_conv2d(a, w=@w, b=bias, shift=@s) {pad: [1, 1, 1, 1], requantize: "power_of_two"}
  d = integer_conv2d(a, w=@d, b=@b, shift=@s) {pad: [1, 1, 1, 1], groups: 8, requantize: "power_of_two", code_type: "u16", code_max: 4095}
  m = max_pool2d(d) {kernel: [2, 2], stride: [2, 2]}
  e = integer_conv2d(c, w=@w, b=@f, w_scale=@ws) {requantize: "fbgemm", x_scale: 0.5, y_scale: 40.0}
  h = integer_conv2d(e, w=@w, b=@f, w_scale=@ws) {requantize: "x86", x_scale: 0.5, y_scale: 40.0}
  i = dequantize(h, scale=@one, zero_point=@zero)
  p = integer_avg_pool2d(h) {kernel: [4, 4], stride: [1, 1], requantize: "fbgemm", x_scale: 0.5, y_scale: 0.5}
  q = flatten(p)
  y = integer_linear(q, w=@v, b=@vb, shift=@s) {requantize: "power_of_two"}
  z = integer_linear(rows, w=@r, b=@rb, shift=@s) {requantize: "power_of_two", code_type: "u16", code_max: 1023}
  return m, i, y, z
})";

/// Layers and pools of the program that run the reference kernel.
std::string references_of(const runtime::Program& program) {
  std::string names;
  for (const char* name : {"a", "c", "d", "e", "h", "m", "p", "y", "z"}) {
    const auto of_name = [&](const runtime::Instruction& instruction) { return instruction.name == name; };
    const auto found = std::ranges::find_if(program.instructions(), of_name);
    if (found == program.instructions().end() || found->kernel == kernels::reference_kernel(found->op)) names += name;
  }
  return names;
}

TEST(Compile, LayersOnCodesRunTheirFastKernels) {
  Model model = model_of(kMixed);
  model.tensors.at("s").data<int32_t>()[0] = 4;
  model.tensors.at("ws").data<float>()[0] = 0.5F;
  for (const char* name : {"w", "d", "v", "r"}) {
    const auto weights = model.tensors.at(name).data<int8_t>();
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int8_t>(static_cast<int>(i * 37 % 255) - 127);
  }
  const std::map<std::string, Tensor> inputs = inputs_of(model);
  ThreadPool pool(2);
  CompileOptions plain;
  plain.level = CpuLevel::scalar;
  const auto want = compile(model, plain).run(inputs, pool);
  for (const CpuLevel level : available_cpu_levels()) {
    for (const bool freeze : {true, false}) {
      SCOPED_TRACE(name(level));
      CompileOptions options;
      options.level = level;
      options.freeze_tensors = freeze;
      const auto program = compile(model, options);
      EXPECT_EQ(references_of(program), level == CpuLevel::scalar ? "acdehpyz" : "") << listing(program);
      for (const auto& [name, value] : compile(model, options).run(inputs, pool))
        EXPECT_TRUE(value.same_bits(want.at(name))) << name;
    }
  }
}

TEST(Compile, FetchingOneValueRunsOnlyWhatItNeeds) {
  CompileOptions options;
  options.fetch = {"a"};
  EXPECT_EQ(listing(compile(model_of(kSmall), options)), "add a");
}

TEST(Compile, RefusesUnknownFetch) {
  CompileOptions options;
  options.fetch = {"rr"};
  EXPECT_EQ(diagnostic_of([&] { compile(model_of(kSmall), options); }),
            errors::fetch_unknown("small", "rr", ", did you mean 'r'?"));
  options.fetch = {"a", "a"};
  EXPECT_EQ(test::name_of([&] { compile(model_of(kSmall), options); }), "output_named_twice");
}

TEST(Compile, WantsKnownExtents) {
  const Model model = model_of("graph g(x: f32[?, 3]) { r = relu(x=x) return r }");
  EXPECT_EQ(diagnostic_of([&] { compile(model, {}); }), errors::extents_not_known("graph 'g'", "x", "f32[?, 3]"));
  EXPECT_EQ(listing(compile(specialize(model, {{"x", {2, 3}}}), {})), "relu r");
}

TEST(Compile, WantsContentsOfTensors) {
  Model model = model_of(kSmall);
  model.tensors.at("w") = Tensor(DType::f32, {4});
  EXPECT_EQ(diagnostic_of([&] { compile(model, {}); }), errors::program_tensor_unfit("small", "w", "f32[4]", "f32[3]"));
  model.tensors.clear();
  EXPECT_EQ(diagnostic_of([&] { compile(model, {}); }),
            errors::program_tensor_unfit("small", "w", "no contents", "f32[3]"));
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
  EXPECT_EQ(diagnostic_of([&] { compile(model, unknown); }),
            errors::optimization_unknown("ces", ", did you mean 'cse'?"));
}

TEST(Compile, RecordsWhyKernelsRefuse) {
  CompileOptions options;
  options.level = CpuLevel::scalar;
  const auto program = compile(model_of(kSmall), options);
  for (const runtime::Instruction& instruction : program.instructions()) {
    EXPECT_STREQ(instruction.kernel->name, "reference") << instruction.name;
    EXPECT_FALSE(instruction.refused.empty()) << instruction.name;
  }
  const std::string reason = errors::kernel_is_for_other_levels("scalar", "avx2 or higher").reason();
  EXPECT_NE(describe_kernels(program.spec()).find("not simd: " + reason), std::string::npos);
}

TEST(Compile, SaysWhenNoKernelDoesIt) {
  const Model model = model_of("graph g(x: f32[3]) { r = bit_cast(x=x) {to: \"f64\"} return r }");
  const std::string reason = errors::kernel_takes_other_types("x", "f32", "a type of the size of f64").reason();
  EXPECT_EQ(diagnostic_of([&] { compile(model, {}); }),
            errors::no_kernel("test.ir:1: node 'r': bit_cast", "cpu", "reference: " + reason));
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
  Diagnostic refused = errors::kernel_takes_other_types("x", "f32", "a type of the size of f64");
  refused.where = "text:1: node 'b': bit_cast";
  EXPECT_EQ(diagnostic_of([&] { compiler::evaluate(graph.op("b"), {x}); }), refused);
}

TEST(Compile, SameResultsOnSim) {
  const Model model = model_of(kSmall);
  CompileOptions options;
  options.place = kSim;
  EXPECT_TRUE(run(model, options).at("y").same_bits(run(model).at("y")));
}

}  // namespace
}  // namespace halfstep
