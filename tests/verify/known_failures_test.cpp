// Five ways in which systems of fake-quantize operators are known to fail at run time, and the replacement here: an
// error before anything runs, or a design without that failure.
#include <gtest/gtest.h>

#include "halfstep/core/ir/errors.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/compile/errors.h"
#include "halfstep/passes/gradient/gradients.h"
#include "halfstep/verify/operators/single.h"
#include "tests/support/error.h"

namespace halfstep::verify {
namespace {

using test::diagnostic_of;

/// "round_type is not found": an attribute that one of two definitions lacks. Here there is a single definition, so
/// every operator has each of its attributes with its default, and an unknown attribute is refused by name.
TEST(KnownFailures, AttributeMissingInOneOfTwoDefinitions) {
  const OpInfo& info = require_operator("fake_quantize_range_abs_max", "test");
  const Attributes complete = complete_attributes(info, {}, "test");
  for (const AttributeInfo& attribute : info.attributes) EXPECT_TRUE(complete.contains(attribute.name));
  EXPECT_EQ(get<int64_t>(complete, "round_type"), 1);
  EXPECT_EQ(diagnostic_of([&] {
              complete_attributes(info, {{"round_typ", int64_t{0}}}, "node 'q'");
            }),
            errors::attribute_unknown("node 'q'", info.name, "round_typ", ", did you mean 'round_type'?"));
}

/// "kernel output args defs should equal op outputs": here the kernels of every operator produce exactly the results of
/// its record.
TEST(KnownFailures, KernelAndOperatorDisagreeOnResults) {
  ThreadPool pool(1);
  for (const OpTest& test : op_tests()) {
    const OpInfo& info = require_operator(test.op, "table");
    const Problem problem{&info, test.cases.front()};
    const auto operands = fill_operands(problem, test, 0, Specials::none);
    const Single single = make_single(problem, operands, OperandSource::arguments);
    const auto results = execute(single, cpu_level(), {}, pool);
    ASSERT_EQ(results.size(), info.outputs.size()) << test.op;
    for (size_t port = 0; port < results.size(); ++port)
      EXPECT_EQ(results[port].defined(), info.has_output(static_cast<int>(port), single.op.attributes()))
          << test.op << " " << info.outputs[port].name;
  }
}

/// A gradient found by cutting a name at "_grad": the operator that legacy programs call
/// straight_through_estimator_grad belongs to no operator by name. Here gradients are references, and each legacy
/// spelling is a name of that one operator.
TEST(KnownFailures, GradientNameNotDerivable) {
  for (const char* name :
       {"straight_through_estimator_grad", "stright_throuth_estimator_grad", "fake_quantize_dequantize_abs_max_grad",
        "fake_channel_wise_quantize_dequantize_abs_max_grad", "fake_quantize_dequantize_moving_average_abs_max_grad"}) {
    const OpInfo* info = find_foreign_operator("paddle", name);
    ASSERT_NE(info, nullptr) << name;
    EXPECT_EQ(info->name, "straight_through_estimator_grad") << name;
  }
  const Problem problem = parse_problem("moving_average_abs_max_scale x=f32[4] in_accum=f32[1] in_state=f32[1]");
  Single single = make_single(problem, {Tensor(DType::f32, {4}), Tensor::scalar(1.0F), Tensor::scalar(1.0F)},
                              OperandSource::arguments);
  Builder at_end(single.model.graph);
  std::vector<Value> out_grads(problem.info->outputs.size());
  out_grads[0] = single.model.graph.add_argument("out_grad", {DType::f32, {4}});
  EXPECT_EQ(passes::build_gradient(at_end, single.op, out_grads, {true, false, false}).front(), out_grads[0]);
}

/// A state window with a shape that the kernel would write past.
TEST(KnownFailures, WrongStateShape) {
  const Diagnostic error = diagnostic_of([] {
    parse_problem("fake_quantize_range_abs_max x=f32[4] in_scale=f32[1] iter=i64[1] in_window=f32[2] window_size=3");
  });
  EXPECT_EQ(error, errors::operator_rule(error.where, "fake_quantize_range_abs_max", "c4", error.found,
                                         "is_test or w == window_size"));
}

/// Fetching a result that test mode does not produce.
TEST(KnownFailures, FetchOfAnOutputOfTestMode) {
  const Problem problem = parse_problem("fake_quantize_moving_average_abs_max x=f32[4] in_scale=f32[1] is_test=true");
  Single single = make_single(problem, {Tensor(DType::f32, {4}), Tensor::scalar(1.0F)}, OperandSource::arguments);
  for (const char* name : {"out_scale", "out_state", "out_accum"}) {
    CompileOptions options;
    options.fetch = {fmt::format("{}.{}", single.op.name(), name)};
    const Diagnostic error = test::diagnostic_of([&] { compile(single.model, options); });
    EXPECT_EQ(error, errors::output_not_produced(error.where, name, " when is_test is true"));
  }
}

}  // namespace
}  // namespace halfstep::verify
