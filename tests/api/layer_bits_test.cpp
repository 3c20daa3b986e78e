// Bit widths of single layers, passed to `quantize`.
#include <gtest/gtest.h>

#include <random>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/loop/builtin_networks.h"

namespace halfstep::api {
namespace {

Dataset noise(int64_t samples) {
  Tensor tensor = Tensor::uninitialized(DType::f32, {samples, 6});
  std::mt19937 random(7);
  for (float& element : tensor.data<float>()) element = static_cast<float>(random() % 2001) / 500.0F - 2.0F;
  return make_data({{"x", tensor}}, "noise", {});
}

Model quantized(const QuantizeOptions& options) {
  const Model network = train::initialize(parse(R"(graph g(x: f32[?, 6]) {
  param @w: f32[8, 6]
  param @v: f32[3, 8]
  l = linear(x, w=@w)
  y = linear(x=l, w=@v)
  return y
})",
                                                "g.ir"),
                                          3);
  return quantize(network, quant::load_platform("onnxruntime_int8"), noise(16), options, {}).model;
}

/// Observers use the final bit widths, not the ones that these replace.
TEST(LayerBits, AreThoseThatCalibrationSees) {
  QuantizeOptions replaced{.bits = {{.selector = "*", .weights = 8, .activations = 8}}}, plain;
  replaced.prepare.weight_bits = 3, replaced.prepare.activation_bits = 3, replaced.prepare.first_last_bits = 3;
  const Model found = quantized(replaced), expected = quantized(plain);
  for (const auto& quantizer : expected.graph.all<ops::FakeQuantize>()) {
    if (!quantizer.x().producer() && !quantizer.x().is_tensor()) continue;  // the input is not a layer: 3 bits
    const ops::ObserveRange observer = quant::observer_of(quantizer);
    for (const Value value : {observer.low(), observer.high(), observer.scale(), observer.zero_point()})
      EXPECT_TRUE(found.tensors.at(value.name()).same_bits(expected.tensors.at(value.name()))) << value.name();
  }
}

}  // namespace
}  // namespace halfstep::api
