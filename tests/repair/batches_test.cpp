// Repairs process the same samples in the same steps, whatever the batch of the file is.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "tests/repair/digits.h"

namespace halfstep::repair {
namespace {

constexpr int64_t kSamples = 45;  // not a multiple of 7

/// A residual block between two layers. The last one reads rows of known extents.
Model network(const std::string& batch) {
  const std::string text = "graph g(x: f32[" + batch + ", 3, 5, 5]) {\n" + R"(
  param @w: f32[6, 3, 3, 3]
  param @b: f32[6]
  param @u: f32[6, 6, 3, 3]
  param @c: f32[6]
  param @v: f32[4, 150]
  param @d: f32[4]
  a = conv2d(x, w=@w, b=@b) {pad: [1, 1, 1, 1]}
  r = relu(x=a)
  e = conv2d(x=r, w=@u, b=@c) {pad: [1, 1, 1, 1]}
  s = add(a=r, b=e)
  t = relu(x=s)
  f = reshape(x=t) {dims: [)" +
                           (batch == "?" ? "-1" : batch) + R"(, 150]}
  y = linear(f, w=@v, b=@d)
  return y
})";
  return train::initialize(parse(text, "g.ir"), 7);
}

data::Dataset samples() {
  data::Dataset data;
  data.name = "given";
  data.raw = false;
  data.x = Tensor(DType::f32, {kSamples, 3, 5, 5});
  Random random(3, 0);
  const auto values = data.x.data<float>();
  for (size_t i = 0; i < values.size(); ++i) values[i] = random.normal() * static_cast<float>(1 + (i / 75) % 5);
  return data;
}

Outcome repaired(const std::string& batch, const data::Dataset& data, const std::string& method) {
  quant::PrepareOptions bit_widths;
  bit_widths.weight_bits = bit_widths.activation_bits = 4;
  Model model = quant::prepare(network(batch), quant::load_platform("generic_int8"), bit_widths);
  const data::Samples all = all_of(data);
  ThreadPool pool(2);
  const train::CalibrateOptions calibration{.batch = 20};
  train::calibrate(model, all, calibration, pool);
  Options options;
  options.methods = {method};
  options.steps = 40;
  return repair(model, all, calibration, options, pool);
}

TEST(Batches, EveryMethodMakesTheSameOfEach) {
  const data::Dataset data = samples();
  int kept = 0;
  for (const MethodInfo& method : method_list()) {
    const Outcome open = repaired("?", data, method.name);
    kept += open.report.steps[0].kept ? 1 : 0;
    for (const char* batch : {"1", "7"}) {
      const Outcome other = repaired(batch, data, method.name);
      const auto where = fmt::format("{}, batch {}", method.name, batch);
      EXPECT_EQ(other.report.steps[0].what, open.report.steps[0].what) << where;
      EXPECT_EQ(other.report.last.loss, open.report.last.loss) << where;
      EXPECT_EQ(other.report.validation_split, open.report.validation_split) << where;
      EXPECT_FALSE(other.report.note.has_value()) << where;
      for (const auto& [name, tensor] : open.model.tensors)
        EXPECT_TRUE(tensor.same_bits(other.model.tensors.at(name))) << name << ": " << where;
    }
  }
  EXPECT_GE(kept, 3);
}

}  // namespace
}  // namespace halfstep::repair
