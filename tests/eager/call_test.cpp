#include "halfstep/engine/eager/call.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>
#include <thread>

#include "halfstep/core/ir/ops.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/eager/errors.h"
#include "tests/support/error.h"

namespace halfstep::eager {
namespace {

using test::name_of;

Tensor ramp(int64_t size, float step = 0.37F) {
  Tensor tensor(DType::f32, {size});
  for (int64_t i = 0; i < size; ++i)
    tensor.data<float>()[static_cast<size_t>(i)] = step * static_cast<float>(i % 997) - 3;
  return tensor;
}

/// The result of a Program with this single operator on the same operands.
std::vector<Tensor> compiled(const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
  Model model;
  std::vector<Value> values;
  std::map<std::string, Tensor> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::string name = fmt::format("operand{}", i);
    values.push_back(operands[i].defined() ? model.graph.add_argument(name, operands[i].type()) : Value());
    if (operands[i].defined()) inputs[name] = operands[i];
  }
  const Op op = model.graph.insert({&info, values, attributes, "op", {}});
  model.graph.set_outputs(op.results());
  ThreadPool pool(2);
  const auto outputs = compile(model).run(inputs, pool);
  std::vector<Tensor> results(info.outputs.size());
  for (size_t i = 0; i < model.graph.outputs().size(); ++i)
    results[static_cast<size_t>(model.graph.outputs()[i].port())] = outputs.at(model.graph.body().output_names()[i]);
  return results;
}

TEST(Call, EqualsTheCompiledProgram) {
  const Tensor scale = Tensor::scalar(0.1F), zero_point = Tensor::scalar(3);
  for (const int64_t size : {0, 1, 5, 1000, 300000}) {
    const std::vector<Tensor> operands = {ramp(size), scale, zero_point};
    const Attributes attributes = {{"code_max", int64_t{15}}};
    const auto found = call(ops::FakeQuantize::record(), attributes, operands);
    EXPECT_TRUE(found.at(0).same_bits(compiled(ops::FakeQuantize::record(), attributes, operands).at(0))) << size;
  }
}

TEST(Call, PhasesRunInOrderForAnyNumberOfThreads) {
  const OpInfo& info = ops::FakeQuantizeDequantizeMovingAverageAbsMax::record();
  const std::vector<Tensor> operands = {ramp(1000000), Tensor::scalar(1.0F), Tensor::scalar(2.0F),
                                        Tensor::scalar(3.0F)};
  const auto expected = compiled(info, {}, operands);
  for (const int count : {1, 2, 5}) {
    set_threads(count);
    EXPECT_EQ(threads(), count);
    const auto found = call(info, {}, operands);
    for (size_t port = 0; port < expected.size(); ++port) EXPECT_TRUE(found[port].same_bits(expected[port])) << port;
  }
  set_threads(0);
}

TEST(Call, ThreadsAreCounted) {
  EXPECT_EQ(test::diagnostic_of([] { set_threads(-1); }), errors::thread_count_negative(-1));
}

TEST(Call, WhatIsSwitchedOffIsUndefined) {
  const OpInfo& info = ops::FakeQuantizeDequantizeMovingAverageAbsMax::record();
  const std::vector<Tensor> operands = {ramp(9), Tensor::scalar(1.0F)};
  const auto results = call(info, {{"is_test", true}}, operands);
  ASSERT_EQ(results.size(), 4U);
  EXPECT_TRUE(results[0].defined());
  for (size_t port = 1; port < 4; ++port) EXPECT_FALSE(results[port].defined());
}

TEST(Call, ResultsAreFreshMemory) {
  const Tensor x = ramp(64);
  const Tensor before = x.clone();
  const auto once = call(ops::Relu::record(), {}, std::vector{x});
  const auto again = call(ops::Relu::record(), {}, std::vector{x});
  EXPECT_NE(once[0].raw(), again[0].raw());
  EXPECT_NE(once[0].raw(), x.raw());
  EXPECT_TRUE(x.same_bits(before));
}

TEST(Call, OptionalAndVariadicOperands) {
  const Tensor x(DType::f32, {2, 3}), w(DType::f32, {4, 3});
  EXPECT_EQ(call(ops::Linear::record(), {}, std::vector{x, w})[0].dims(), (Dims{2, 4}));
  EXPECT_EQ(call(ops::Linear::record(), {}, std::vector{x, w, Tensor()})[0].dims(), (Dims{2, 4}));
  EXPECT_EQ(call(ops::Linear::record(), {}, std::vector{x, w, Tensor(DType::f32, {4})})[0].dims(), (Dims{2, 4}));
  EXPECT_EQ(call(ops::Concat::record(), {{"axis", int64_t{1}}}, std::vector{x, x, x})[0].dims(), (Dims{2, 9}));
}

TEST(Call, ErrorsNameTheRule) {
  const auto error = [](const OpInfo& info, const Attributes& attributes, const std::vector<Tensor>& operands) {
    return name_of([&] { call(info, attributes, operands); });
  };
  const OpInfo& info = ops::FakeQuantize::record();
  const Tensor x = ramp(4), scale = Tensor::scalar(1.0F), zero_point = Tensor::scalar(0);
  EXPECT_EQ(error(info, {{"code_max", int64_t{0}}}, {x, scale, zero_point}), "operator_rule");
  EXPECT_EQ(error(info, {}, {x, scale}), "operand_missing");
  EXPECT_EQ(error(info, {}, {x, scale, zero_point, x}), "operand_count");
  EXPECT_EQ(error(info, {}, {x, zero_point, zero_point}), "operand_dtype");
  EXPECT_EQ(error(info, {{"code_maks", int64_t{1}}}, {x, scale, zero_point}), "attribute_unknown");
  EXPECT_EQ(error(info, {{"code_max", 0.5}}, {x, scale, zero_point}), "attribute_type");
  const OpInfo& average = ops::FakeQuantizeDequantizeMovingAverageAbsMax::record();
  EXPECT_EQ(error(average, {{"is_test", true}}, {x, scale, scale}), "input_not_taken");
}

TEST(Call, MoreThanTwoToThe31Elements) {
  const int64_t size = (int64_t{1} << 31) + 5;
  Tensor x;
  try {
    x = Tensor::uninitialized(DType::u8, {size});
  } catch (const std::bad_alloc&) {
    GTEST_SKIP() << "2 GiB of memory are not to be had";
  }
  std::memset(x.raw(), 7, x.bytes());
  x.data<uint8_t>().back() = 9;
  const auto results = call(ops::Concat::record(), {{"axis", int64_t{0}}}, std::vector{x});
  EXPECT_EQ(results[0].size(), size);
  EXPECT_EQ(results[0].data<uint8_t>()[static_cast<size_t>(size) - 2], 7);
  EXPECT_EQ(results[0].data<uint8_t>().back(), 9);
}

TEST(Call, ThreadsAtOnce) {
  const Tensor scale = Tensor::scalar(0.1F), zero_point = Tensor::scalar(3);
  std::vector<Tensor> inputs, expected;
  for (int64_t i = 0; i < 8; ++i) {
    inputs.push_back(ramp(20000 * i + 1));
    expected.push_back(call(ops::FakeQuantize::record(), {}, std::vector{inputs.back(), scale, zero_point})[0]);
  }
  std::atomic<int> different{0};
  {
    std::vector<std::jthread> callers;
    for (size_t t = 0; t < 4; ++t) {
      callers.emplace_back([&, t] {
        for (size_t round = 0; round < 40; ++round) {
          const size_t i = (round + t) % inputs.size();
          const auto found = call(ops::FakeQuantize::record(), {}, std::vector{inputs[i], scale, zero_point});
          if (!found[0].same_bits(expected[i])) ++different;
        }
      });
    }
  }
  EXPECT_EQ(different, 0);
}

TEST(Call, RoundsToNearestWhateverTheCallerDoes) {
  const Tensor x = ramp(1000), scale = Tensor::scalar(0.1F), zero_point = Tensor::scalar(3);
  const auto expected = call(ops::FakeQuantize::record(), {}, std::vector{x, scale, zero_point});
  std::fesetround(FE_UPWARD);
  const auto found = call(ops::FakeQuantize::record(), {}, std::vector{x, scale, zero_point});
  EXPECT_EQ(std::fegetround(), FE_UPWARD);
  std::fesetround(FE_TONEAREST);
  EXPECT_TRUE(found[0].same_bits(expected[0]));
}

}  // namespace
}  // namespace halfstep::eager
