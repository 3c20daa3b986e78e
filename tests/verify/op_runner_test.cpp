// The operator runner finds injected faults, and finds no fault in the records.
#include "halfstep/verify/operators/operator_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/temporary_folder.h"
#include "halfstep/passes/gradient/gradients.h"
#include "halfstep/verify/operators/compare_tensors.h"
#include "halfstep/verify/operators/errors.h"
#include "halfstep/verify/operators/golden.h"
#include "halfstep/verify/operators/golden_form.h"
#include "halfstep/verify/operators/result_checks.h"
#include "tests/support/error.h"

namespace halfstep::verify {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor tensor_of(DType dtype, const std::vector<double>& values) {
  Tensor tensor(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) set_element(tensor, static_cast<int64_t>(i), values[i]);
  return tensor;
}

Tensor with(const Tensor& tensor, int64_t index, double value) {
  Tensor changed = tensor.clone();
  set_element(changed, index, value);
  return changed;
}

// ---- problems

TEST(OpProblem, IsReadAndWritten) {
  const char* const lines[] = {
      "conv2d b=f32[4] w=f32[4,3,3,3] x=f32[2,6,9,7] groups=2 pad=[1,0,2,1]",
      "concat x=[f32[2,3],f32[2,1]]",
      "fused_conv2d x=f32[1,4,5,5] w=f32[4,4,1,1] activation=relu6 alpha=0.5",
      "softmax x=f64[7,10]",
      "relu x=f32[]",
  };
  const char* const written[] = {
      "conv2d x=f32[2,6,9,7] w=f32[4,3,3,3] b=f32[4] groups=2 pad=[1,0,2,1]",
      "concat x=[f32[2,3],f32[2,1]]",
      "fused_conv2d x=f32[1,4,5,5] w=f32[4,4,1,1] activation=\"relu6\" alpha=0.5",
      "softmax x=f64[7,10]",
      "relu x=f32[]",
  };
  for (size_t i = 0; i < std::size(lines); ++i) {
    EXPECT_EQ(to_text(parse_problem(lines[i])), written[i]);
    EXPECT_EQ(to_text(parse_problem(written[i])), written[i]);
  }
}

TEST(OpProblem, EveryCaseOfARecordCanBeWrittenAndReadBack) {
  for (const OpTest& test : op_tests()) {
    const OpInfo& info = require_operator(test.op, "table");
    for (const OpCase& use : test.cases) {
      const std::string text = to_text({&info, {use.in, complete_attributes(info, use.attributes, "table")}});
      const Problem read = parse_problem(text);
      EXPECT_EQ(to_text(read), text);
      EXPECT_EQ(read.use.in, use.in) << text;
    }
  }
}

TEST(OpProblem, MembersAreKnownOnceAndStatic) {
  const std::pair<const char*, Diagnostic> cases[] = {
      {"conv2d xx=f32[1]", errors::problem_member_unknown("conv2d", "xx", ", did you mean 'x'?")},
      {"conv2d x=f32[1,1,3,3] w=f32[1,1,3,3] grups=1",
       errors::problem_member_unknown("conv2d", "grups", ", did you mean 'groups'?")},
      {"relu x=f32[?]", errors::problem_extents_open("relu", "x", "f32[?]")},
      {"relu x=f32[1] x=f32[1]", errors::problem_member_twice("relu", "x")},
  };
  for (const auto& [line, error] : cases) EXPECT_EQ(test::diagnostic_of([&] { parse_problem(line); }), error) << line;
}

TEST(OpProblem, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"conv3d x=f32[1]", "unknown_name"},
      {"", "text_unexpected"},
      {"relu x=f23[1]", "text_unexpected"},
      {"relu", "operand_missing"},
      {"relu x", "text_unexpected"},
      {"leaky_relu x=f32[1] alpha=\"a\"", "attribute_type"},
      {"conv2d x=f32[1,3,5,5] w=f32[1,2,3,3]", "operator_rule"},
  };
  for (const auto& [line, name] : cases) EXPECT_EQ(test::name_of([&] { parse_problem(line); }), name) << line;
}

TEST(OpProblem, FillsAreOfTheSeedAndTheRecord) {
  const Problem problem = parse_problem("fake_quantize x=f32[1000] scale=f32[1] zero_point=i32[1]");
  const OpTest& record = op_test("fake_quantize");
  const Tensor x = fill_operands(problem, record, 3, Specials::strewn)[0];
  EXPECT_TRUE(x.same_bits(fill_operands(problem, record, 3, Specials::strewn)[0]));
  EXPECT_FALSE(x.same_bits(fill_operands(problem, record, 4, Specials::strewn)[0]));
  int64_t nan = 0, infinite = 0;
  for (const float v : x.data<float>()) {
    nan += std::isnan(v);
    infinite += std::isinf(v);
    EXPECT_FALSE(std::isfinite(v) && (v < -4 || v > 6));
  }
  EXPECT_GE(nan, 5);
  EXPECT_GE(infinite, 10);
  const Tensor plain = fill_operands(problem, record, 3, Specials::none)[0];
  for (const float v : plain.data<float>()) EXPECT_TRUE(v >= -4 && v <= 6);
  EXPECT_EQ(fill_operands(problem, record, 3, Specials::strewn)[1].data<float>()[0], 0.03F);
}

TEST(OpProblem, CodesFillTheirRange) {
  const Problem problem = parse_problem("dequantize x=i4[500] scale=f32[1] zero_point=i32[1]");
  const Tensor x = fill_operands(problem, op_test("dequantize"), 0, Specials::none)[0];
  const auto [low, high] = std::ranges::minmax(x.data<int8_t>());
  EXPECT_EQ(low, -8);
  EXPECT_EQ(high, 7);
}

// ---- the comparer

TEST(OpCompare, EveryFlippedBitIsFound) {
  const Tensor numbers[] = {tensor_of(DType::f32, {1.5, -0.25, 1e-40, 0}),
                            tensor_of(DType::f64, {1.5, 0}),
                            tensor_of(DType::u8, {0, 255}),
                            tensor_of(DType::i4, {-8, 7}),
                            tensor_of(DType::i32, {-1, 70000}),
                            tensor_of(DType::f16, {0, 15360})};
  for (const Tensor& expected : numbers) {
    EXPECT_EQ(difference(expected.clone(), expected), "");
    for (size_t bit = 0; bit < expected.bytes() * 8; ++bit) {
      Tensor found = expected.clone();
      found.raw()[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(difference(found, expected), "") << to_string(expected.type()) << " bit " << bit;
    }
  }
}

TEST(OpCompare, NanAndInfinityStandWhereTheyShould) {
  const Tensor expected = tensor_of(DType::f32, {kNan, kInfinity, 1, -kInfinity});
  for (const std::optional<double> tolerance : {std::optional<double>(), std::optional<double>(0.5)}) {
    EXPECT_EQ(difference(with(expected, 0, -kNan), expected, tolerance), "");
    EXPECT_NE(difference(with(expected, 0, 1), expected, tolerance), "");
    EXPECT_NE(difference(with(expected, 1, 1e38), expected, tolerance), "");
    EXPECT_NE(difference(with(expected, 1, -kInfinity), expected, tolerance), "");
    EXPECT_NE(difference(with(expected, 2, kNan), expected, tolerance), "");
    EXPECT_NE(difference(with(expected, 2, kInfinity), expected, tolerance), "");
  }
}

TEST(OpCompare, ToleranceIsOfTheLargestMagnitudeAndOfFloatsAlone) {
  const Tensor expected = tensor_of(DType::f32, {0, -1024, kInfinity});
  EXPECT_EQ(difference(with(expected, 0, 0.9), expected, 1e-3), "");
  EXPECT_EQ(difference(with(expected, 0, 1.1), expected, 1e-3),
            "1 of 3 elements differ, the first at [0]: found 1.100000023841858, expected 0 within 1.02");
  EXPECT_EQ(difference(with(expected, 0, -0.0), expected, 1e-3), "");
  EXPECT_NE(difference(with(expected, 0, -0.0), expected), "");
  const Tensor codes = tensor_of(DType::u8, {0, 200});
  EXPECT_NE(difference(with(codes, 0, 1), codes, 0.5), "");
  EXPECT_EQ(difference(tensor_of(DType::u8, {0}), codes), "found u8[1], expected u8[2]");
  EXPECT_EQ(difference(Tensor(DType::f32, {0, 3}), Tensor(DType::f32, {0, 3}), 1e-3), "");
}

TEST(OpCompare, ResultsAreComparedByPort) {
  const OpInfo& info = require_operator("batch_norm", "test");
  std::vector<Tensor> expected(5);
  expected[0] = tensor_of(DType::f32, {1, 2});
  expected[3] = tensor_of(DType::f32, {3});
  EXPECT_EQ(compare_results(info, expected, expected, {}), "");
  std::vector<Tensor> found = expected;
  found[3] = Tensor();
  EXPECT_EQ(compare_results(info, found, expected, {}), "batch_mean: is not produced");
  found[3] = tensor_of(DType::f32, {4});
  EXPECT_EQ(compare_results(info, found, expected, {}),
            "batch_mean: 1 of 1 elements differ, the first at [0]: found 4, expected 3");
}

// ---- the checks find faults

/// The reference gets another operand than the kernel. This has the same effect as a kernel that is wrong in one
/// element.
TEST(OpChecks, ADeviatingResultFails) {
  const Problem problem = parse_problem("mul a=f32[40] b=f32[40]");
  const std::vector<Tensor> operands = fill_operands(problem, op_test("mul"), 0, Specials::none);
  std::vector<Tensor> corrupted = operands;
  corrupted[1] = with(operands[1], 33, element(operands[1], 33) + 1e-3);
  const Single single = make_single(problem, operands, OperandSource::tensors);
  ThreadPool pool(1);
  const auto found = execute(single, cpu_level(), {}, pool);
  EXPECT_EQ(compare_results(*problem.info, found, reference_results(single, operands), {}), "");
  const std::string wrong = compare_results(*problem.info, found, reference_results(single, corrupted), {});
  EXPECT_EQ(wrong.find("out: 1 of 40 elements differ, the first at [33]: "), 0U) << wrong;
}

std::vector<Value> scaled_gradient(Builder& builder, Op op, std::span<const Value> out_grads,
                                   const std::vector<bool>& wanted) {
  std::vector<Value> gradients = passes::build_gradient(builder, op, out_grads, wanted);
  for (Value& gradient : gradients) {
    if (!gradient) continue;
    const Op doubled = builder.insert({find_operator("add"), {gradient, gradient}, {}, "doubled", {}});
    gradient = doubled.out(0);
  }
  return gradients;
}

Outcome gradient_of(const char* line, const GradientBuilder& builder) {
  ThreadPool pool(1);
  const Problem problem = parse_problem(line);
  return check_gradient(problem, op_test(problem.info->name), 5, builder, cpu_level(), pool);
}

TEST(OpChecks, AWrongGradientFails) {
  for (const char* line :
       {"silu x=f32[50]", "conv2d x=f32[2,3,5,5] w=f32[4,3,3,3] b=f32[4]",
        "max_pool2d x=f32[1,2,6,6] kernel=[2,2] stride=[2,2]", "softmax_cross_entropy logits=f32[4,10] labels=i32[4]",
        "batch_norm x=f32[8,3] scale=f32[3] bias=f32[3] mean=f32[3] variance=f32[3] is_test=false"}) {
    EXPECT_EQ(gradient_of(line, passes::build_gradient).text, "") << line;
    EXPECT_EQ(gradient_of(line, scaled_gradient).kind, Outcome::Kind::failed) << line;
  }
}

TEST(OpChecks, AGradientOfTheWrongFormFails) {
  const auto swapped = [](Builder& builder, Op op, std::span<const Value> out_grads, const std::vector<bool>& wanted) {
    auto gradients = passes::build_gradient(builder, op, out_grads, wanted);
    std::swap(gradients[0], gradients[1]);
    return gradients;
  };
  EXPECT_EQ(gradient_of("linear x=f32[2,5] w=f32[3,5]", swapped).text,
            "gradient of x: found f32[3, 5], expected f32[2, 5]");
  const auto nothing = [](Builder&, Op, std::span<const Value>, const std::vector<bool>& wanted) {
    return std::vector<Value>(wanted.size());
  };
  EXPECT_EQ(gradient_of("fake_channel_wise_quantize_dequantize_abs_max x=f32[3,5]", nothing).text,
            "the rule computes no gradient for any operand");
}

TEST(OpChecks, WhatHasNoGradientIsSkipped) {
  EXPECT_EQ(gradient_of("hardmax x=f32[3,5]", passes::build_gradient).text,
            "its result does not change with small changes of x");
  const Outcome outcome = gradient_of(
      "quantized_rescale x=u8[8,3] x_scale=f32[1] x_zero_point=i32[1] y_scale=f32[1] "
      "y_zero_point=i32[1]",
      passes::build_gradient);
  EXPECT_EQ(outcome.kind, Outcome::Kind::skipped);
  EXPECT_NE(outcome.text.find("is_test is true"), std::string::npos) << outcome.text;
}

TEST(OpChecks, ARecordWithNeitherAGradientNorAReasonFails) {
  OpTest record = op_test("hardmax");
  record.without_gradient.clear();
  const Problem problem = parse_problem("hardmax x=f32[3,5]");
  ThreadPool pool(1);
  const Outcome outcome = check_gradient(problem, record, 1, passes::build_gradient, cpu_level(), pool);
  EXPECT_EQ(outcome.kind, Outcome::Kind::failed) << outcome.text;
}

TEST(OpChecks, ARejectThatIsAcceptedOrNamesAnotherRuleFails) {
  const OpTest& record = op_test("conv2d");
  const OpInfo& info = require_operator("conv2d", "test");
  EXPECT_EQ(check_reject(info, record.rejects[0]).kind, Outcome::Kind::passed);
  EXPECT_EQ(check_reject(info, {"c1", record.cases[0]}).kind, Outcome::Kind::failed);
  EXPECT_EQ(check_reject(info, {"c2", record.rejects[0].refused}).kind, Outcome::Kind::failed);
}

/// Number of elements with different bits.
size_t distinct_elements(const Tensor& tensor) {
  std::set<std::string> distinct;
  const size_t width = size_of(tensor.dtype());
  for (size_t at = 0; at < tensor.bytes(); at += width)
    distinct.emplace(reinterpret_cast<const char*>(tensor.raw()) + at, width);
  return distinct.size();
}

/// Most different values that a result can have: both truth values, three signs, and no more values than the operand of
/// a cast.
size_t possible(const std::string& op, const Tensor& result, const Tensor& first) {
  if (op == "sign_grad_x") return 1;
  if (op == "sign") return 3;
  if (result.dtype() == DType::boolean) return 2;
  const size_t codes = (size_t{1} << std::min(bits_of(result.dtype()), 8)) - 1;
  return op == "cast" ? std::min(codes, distinct_elements(first)) : codes;
}

/// Domains and values of the records: a case whose codes are all saturated would pass with almost any kernel.
TEST(OpChecks, CasesHaveResultsThatTellKernelsApart) {
  constexpr int64_t kEnough = 32;
  constexpr size_t kDistinct = 6;
  for (const OpTest& test : op_tests()) {
    for (const OpCase& use : test.cases) {
      const Problem problem{&require_operator(test.op, "table"), use};
      const auto run_with = [&](Specials specials) {
        const auto operands = fill_operands(problem, test, 0, specials);
        const Single single = make_single(problem, operands, OperandSource::arguments);
        if (single.op.results().empty()) return std::pair(Tensor(), Tensor());
        const auto port = static_cast<size_t>(single.op.results()[0].port());
        return std::pair(reference_results(single, operands)[port], operands[0]);
      };
      auto [result, first] = run_with(Specials::none);
      if (!result.defined() || is_float(result.dtype()) || result.size() < kEnough) continue;
      // Truth values often depend on the special values.
      if (result.dtype() == DType::boolean) std::tie(result, first) = run_with(Specials::strewn);
      EXPECT_GE(distinct_elements(result), std::min(kDistinct, possible(test.op, result, first)))
          << test.op << " " << to_string(use.in[0].value()) << " -> " << to_string(result.type());
    }
  }
}

// ---- the runner

OpOptions options_of(const std::string& mode) {
  OpOptions options;
  options.modes = parse_op_modes(mode);
  options.gradient = passes::build_gradient;
  options.threads = 2;
  return options;
}

class OpConformance : public testing::TestWithParam<const char*> {};

// A0.1
TEST_P(OpConformance, HoldsForEveryRecord) {
  const OpReport report = run_operators(options_of(GetParam()));
  int64_t checked = 0;
  for (const OpRow& row : report.rows) {
    EXPECT_EQ(row.cases, row.checked + row.skipped) << row.op;
    checked += row.checked;
  }
  EXPECT_GE(checked, 30);
  for (const OpFailure& failure : report.failures) ADD_FAILURE() << failure.what << "\n  " << failure.reproduce;
}

INSTANTIATE_TEST_SUITE_P(Modes, OpConformance, testing::Values("check", "bitwise", "grad", "reject"),
                         [](const auto& mode) { return std::string(mode.param); });

TEST(OpRunner, CountsProblems) {
  OpOptions options = options_of("all");
  options.problems = {"relu x=f32[5]", "relu x=f32[2,70]"};
  const OpReport report = run_operators(options);
  ASSERT_EQ(report.rows.size(), 1U);
  EXPECT_EQ(report.rows[0].op, "relu");
  EXPECT_EQ(report.rows[0].cases, 8);
  EXPECT_EQ(report.rows[0].checked, 6);
  EXPECT_EQ(report.skips.at("a problem has no rejected cases; records have"), 2);
  EXPECT_TRUE(report.passed());
}

TEST(OpRunner, AFailureSaysHowToSeeItAgain) {
  OpOptions options = options_of("grad");
  options.problems = {"silu x=f32[2,3]"};
  options.gradient = scaled_gradient;
  options.seed = 3;
  const OpReport report = run_operators(options);
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_FALSE(report.passed());
  EXPECT_EQ(report.rows[0].failed, 1);
  EXPECT_EQ(report.failures[0].what.find("silu: gradient of x: element "), 0U) << report.failures[0].what;
  EXPECT_NE(report.failures[0].reproduce.find("halfstep op grad 'silu x=f32[2,3]' --seed 3"), std::string::npos);
}

TEST(OpRunner, SpeedNamesTheKernel) {
  OpOptions options = options_of("speed");
  options.problems = {"reshape x=f32[64,64] dims=[4096]"};
  const OpReport report = run_operators(options);
  ASSERT_EQ(report.speeds.size(), 1U);
  EXPECT_EQ(report.speeds[0].problem, options.problems[0]);
  EXPECT_EQ(report.speeds[0].kernel, "copy");
}

TEST(Golden, CasesNameWhatTheOperatorHas) {
  GoldenCase golden{.id = "one", .op = "Relu", .attributes = {}, .in = {}, .out = {}, .error = {}};
  golden.in = {{"X", {Tensor(DType::f32, {2})}}};
  EXPECT_EQ(test::diagnostic_of([&] { form_of(golden, "case"); }), Diagnostic{});
  golden.attributes = {{"slope", 0.5}};
  EXPECT_EQ(test::diagnostic_of([&] { form_of(golden, "case"); }),
            errors::golden_member_unknown("case", "attribute 'slope'", "relu"));
  golden.op = "Rellu";
  EXPECT_EQ(test::diagnostic_of([&] { operator_of(golden, "case"); }).entry, &errors::golden_operator_unknown_entry);
}

TEST(Golden, FilesAreListsOfCases) {
  const std::filesystem::path files = HALFSTEP_SOURCE_DIR "/tests/golden";
  GoldenOptions options{.file = files / "onnx.json", .operators = "NoSuchOperator", .gradient = {}, .progress = {}};
  EXPECT_EQ(test::diagnostic_of([&] { run_golden(options); }),
            errors::golden_case_missing("onnx.json", "NoSuchOperator"));
  const io::TemporaryFolder folder;
  std::filesystem::copy(files / "onnx.safetensors", folder / "one.safetensors");
  io::write_file(folder / "one.json", std::string_view("[{"));
  EXPECT_EQ(test::diagnostic_of([&] { read_golden(folder / "one.json"); }).entry,
            &errors::golden_file_unreadable_entry);
  io::write_file(folder / "one.json", std::string_view("{}"));
  EXPECT_EQ(test::diagnostic_of([&] { read_golden(folder / "one.json"); }),
            errors::golden_value_unfit("one.json", "object", "a list of cases"));
  io::write_file(folder / "one.json", std::string_view("[{}]"));
  EXPECT_EQ(test::diagnostic_of([&] { read_golden(folder / "one.json"); }),
            errors::golden_value_unfit("one.json: case 0: 'id'", "nothing", "text"));
}

TEST(OpRunner, WrongUseIsAnError) {
  EXPECT_EQ(
      test::diagnostic_of([] { parse_op_modes("bitwize"); }),
      errors::operator_mode_unknown("bitwize", "[\"check\", \"bitwise\", \"grad\", \"reject\", \"speed\", \"all\"]",
                                    ", did you mean 'bitwise'?"));
  OpOptions options = options_of("check");
  options.operators = "conv3d";
  EXPECT_EQ(test::diagnostic_of([&] { run_operators(options); }),
            errors::checked_operator_unknown("conv3d", ", did you mean 'conv2d'?"));
  options.operators = "*";
  options.problems = {"bit_cast x=f32[4] to=f64"};
  EXPECT_EQ(test::kind_of([&] { run_operators(options); }), ErrorKind::unsupported);
}

}  // namespace
}  // namespace halfstep::verify
