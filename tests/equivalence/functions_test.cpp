// Every pointwise function that becomes a table, with attributes other than its defaults. The prepared network builds
// the table in each run, and conversion stores it.
#include <gtest/gtest.h>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "tests/equivalence/fixture.h"

namespace halfstep::test {
namespace {

std::vector<const OpInfo*> functions() {
  std::vector<const OpInfo*> all;
  for (const OpInfo& info : all_operators()) {
    if (info.quant.lookup) all.push_back(&info);
  }
  return all;
}

/// Attributes slightly off their defaults. Flags are on.
std::string attributes_of(const OpInfo& info) {
  std::string text;
  for (const AttributeInfo& attribute : info.attributes) {
    const double* number = std::get_if<double>(&attribute.default_value);
    text += fmt::format("{}{}: {}", text.empty() ? " {" : ", ", attribute.name,
                        number == nullptr ? "true" : fmt::to_string(*number + 0.125));
  }
  return text.empty() ? "" : text + "}";
}

class EveryFunction : public testing::TestWithParam<const OpInfo*> {};
INSTANTIATE_TEST_SUITE_P(ExecutionPaths, EveryFunction, testing::ValuesIn(functions()),
                         [](const auto& function) { return function.param->name; });

// A5.1, A7.1
TEST_P(EveryFunction, GivesTheSameCodesOnBothPaths) {
  const std::string text = fmt::format(
      "graph g(x: f32[?, 8]) {{\n  param @w: f32[16, 8]\n  a = linear(x, w=@w)\n  b = {}(a){}\n  return b\n}}\n",
      GetParam()->name, attributes_of(*GetParam()));
  data::Dataset data;
  data.name = "random";
  Tensor x(DType::f32, {32, 8});
  Random random(5, 0);
  for (float& value : x.data<float>()) value = random.uniform() - 0.25F;
  data.inputs.emplace("x", x);
  const data::TrainTest parts = data::split(data);
  ThreadPool pool(1);
  Model model = quant::prepare(train::initialize(parse(text, "g.ir"), 3), quant::load_platform("generic_int8"));
  train::calibrate(model, parts.train, {.batch = 32, .batches = 1}, pool);
  const auto conversion = quant::convert(model);
  const auto report = verify::compare_paths(
      api::paths_of(model, conversion.model),
      [&](int64_t begin, int64_t count) { return parts.test.inputs(begin, count); }, 32, 32, pool);
  EXPECT_TRUE(report.equal());
  const bool is_factor = GetParam() == &ops::Neg::record();  // the layer absorbs it as a factor
  EXPECT_EQ(report.layers.size(), is_factor || GetParam()->quant.trait == Trait::fuses_into_producer ? 2U : 3U);
}

}  // namespace
}  // namespace halfstep::test
