// Small networks for the tests of quantization, and observers with ranges that a test sets.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::test {

/// The graph of `text`, called g.ir, with contents for its f32 tensors: numbers between -0.5 and 0.5, and 1 for scales
/// of a normalization.
inline Model network(const std::string& text) {
  Model model;
  model.graph = parse(text, "g.ir");
  uint64_t stream = 0;
  for (const Value value : model.graph.tensors()) {
    Tensor tensor(value.dtype(), value.dims());
    Random random(1, stream++);
    const bool scales = value.name() == "scale" || value.name() == "variance";
    if (value.dtype() == DType::f32)
      std::ranges::generate(tensor.data<float>(), [&] { return scales ? 1.0F : random.uniform() - 0.5F; });
    model.tensors[value.name()] = std::move(tensor);
  }
  return model;
}

/// A graph of images x [?, 4, 6, 6] with the weights of three convolutions: `w` is 3 by 3 pixels, `v` and `u` are one
/// pixel.
inline Model images(const std::string& body) {
  return network("graph g(x: f32[?, 4, 6, 6]) {\n  param @w: f32[4, 4, 3, 3]\n  param @v: f32[4, 4, 1, 1]\n" +
                 std::string("  param @u: f32[4, 4, 1, 1]\n") + body + "}\n");
}

using Overrides = std::vector<std::pair<std::string, std::string>>;

inline Model prepared(const Model& model, const std::string& platform = "generic_int8",
                      const quant::PrepareOptions& bit_widths = {}, const Overrides& overrides = {}) {
  return quant::prepare(model, quant::load_platform(platform, overrides), bit_widths);
}

inline ops::FakeQuantize quantizer(const Model& model, const std::string& name) {
  return ops::FakeQuantize(model.graph.op(name).node());
}

/// Names of the activation quantizers, in the order of the graph.
inline std::vector<std::string> activation_quantizers(const Model& model) {
  std::vector<std::string> names;
  for (const auto& q : model.graph.all<ops::FakeQuantize>()) {
    if (!q.x().is_tensor()) names.push_back(q.name());
  }
  return names;
}

/// Sets the range of every observer from `low` to `high`, in each channel. By default u8 activations have scale 2^-7
/// and zero point 128, and i8 weights have scale 1/127.
inline Model calibrated(Model model, float low = -1, float high = 127.0F / 128) {
  const quant::Platform platform = quant::platform_of(model);
  for (const auto& q : model.graph.all<ops::FakeQuantize>()) {
    const ops::ObserveRange observer = quant::observer_of(q);
    std::ranges::fill(model.tensors.at(observer.low().name()).data<float>(), low);
    std::ranges::fill(model.tensors.at(observer.high().name()).data<float>(), high);
    quant::set_quantizer_bits(model, platform, q, quant::bits_of(q));
  }
  return model;
}

}  // namespace halfstep::test
