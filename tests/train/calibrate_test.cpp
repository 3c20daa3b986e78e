// Samples that calibration accepts for a network with several inputs.
#include "halfstep/train/calibrate/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/calibrate/errors.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/support/error.h"

namespace halfstep::train {
namespace {

Tensor filled(Dims dims, float value) {
  Tensor tensor(DType::f32, std::move(dims));
  std::ranges::fill(tensor.data<float>(), value);
  return tensor;
}

/// Calibrates on those values of x and a mask of ones. Returns the error.
Diagnostic said_of(const Tensor& x) {
  const std::string text =
      "graph g(x: f32[?, 8], mask: f32[?, 16]) {\n  param @w: f32[16, 8]\n  a = linear(x, w=@w)\n"
      "  b = mul(a, b=mask)\n  return b\n}\n";
  data::Dataset data;
  data.name = "given";
  data.inputs = {{"x", x}, {"mask", filled({x.dims()[0], 16}, 1)}};
  Model model = quant::prepare(initialize(parse(text, "g.ir"), 3), quant::load_platform("generic_int8"));
  const data::TrainTest parts = split(data);
  ThreadPool pool(1);
  return test::diagnostic_of([&] { calibrate(model, parts.train, {.batch = 16, .batches = 1}, pool); });
}

TEST(Calibrate, OneInputMayBeConstant) {
  Tensor x(DType::f32, {32, 8});
  Random random(5, 0);
  for (float& value : x.data<float>()) value = random.uniform() - 0.5F;
  EXPECT_EQ(said_of(x), Diagnostic{});
}

TEST(Calibrate, NotEveryInput) {
  EXPECT_EQ(said_of(filled({32, 8}, 0.5F)), errors::calibration_input_constant("given", "1", "mask"));
}

/// Ranges come from these samples alone, although earlier ones were far wider. A range that came with the network
/// stays.
TEST(Calibrate, AgainIsAsForTheFirstTime) {
  const Model network = initialize(
      parse("graph g(x: f32[?, 8]) {\n  param @w: f32[16, 8]\n  a = linear(x, w=@w)\n  b = relu(a)\n  return b\n}\n",
            "g.ir"),
      3);
  Tensor x(DType::f32, {32, 8}), wide(DType::f32, {32, 8});
  Random random(5, 0);
  for (size_t i = 0; i < 256; ++i) wide.data<float>()[i] = 50 * (x.data<float>()[i] = random.uniform() - 0.5F);
  ThreadPool pool(1);
  const auto calibrated = [&](Model model, const Tensor& values) {
    data::Dataset data;
    data.name = "given";
    data.x = values;
    data.raw = false;
    data::Samples samples{&data, {}, "x", {}};
    for (int64_t i = 0; i < data.size(); ++i) samples.indices.push_back(i);
    calibrate(model, samples, {.batch = 16, .batches = 2}, pool);
    return model;
  };
  for (const char* platform : {"generic_int8", "pow2_int8", "onnxruntime_int8"}) {
    SCOPED_TRACE(platform);
    const Model prepared = quant::prepare(network, quant::load_platform(platform));
    const Model first = calibrated(prepared, x), again = calibrated(calibrated(prepared, wide), x);
    for (const auto& [name, tensor] : first.tensors) EXPECT_TRUE(tensor.same_bits(again.tensors.at(name))) << name;
    Model fixed = first;
    const auto input = fixed.graph.all<ops::FakeQuantize>().front();
    quant::fix_range(fixed, input, -3, 5);
    const std::string scale = quant::observer_of(input).scale().name();
    EXPECT_TRUE(calibrated(fixed, x).tensors.at(scale).same_bits(fixed.tensors.at(scale)));
  }
}

}  // namespace
}  // namespace halfstep::train
