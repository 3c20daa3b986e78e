// What calibration takes for samples of a network with several inputs.
#include "halfstep/train/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/base/random.h"
#include "halfstep/io/dataset.h"
#include "halfstep/ir/parse.h"
#include "halfstep/quant/prepare.h"
#include "halfstep/train/network.h"
#include "halfstep/train/samples.h"
#include "tests/support/error.h"

namespace halfstep::train {
namespace {

Tensor filled(Dims dims, float value) {
  Tensor tensor(DType::f32, std::move(dims));
  std::ranges::fill(tensor.data<float>(), value);
  return tensor;
}

/// Calibrates on those values of x and a mask of ones; what it says.
std::string said_of(const Tensor& x) {
  const std::string text =
      "graph g(x: f32[?, 8], mask: f32[?, 16]) {\n  param @w: f32[16, 8]\n  a = linear(x, w=@w)\n"
      "  b = mul(a, b=mask)\n  return b\n}\n";
  io::Dataset data;
  data.name = "given";
  data.inputs = {{"x", x}, {"mask", filled({x.dims()[0], 16}, 1)}};
  Model model = quant::prepare(initialize(parse(text, "g.ir"), 3), quant::load_platform("generic_int8"));
  const TrainTest parts = split(data);
  ThreadPool pool(1);
  return test::error_of([&] { calibrate(model, parts.train, {.batch = 16, .batches = 1}, pool); });
}

TEST(Calibrate, OneInputMayBeConstant) {
  Tensor x(DType::f32, {32, 8});
  Random random(5, 0);
  for (float& value : x.data<float>()) value = random.uniform() - 0.5F;
  EXPECT_EQ(said_of(x), "no error");
}

TEST(Calibrate, NotEveryInput) {
  EXPECT_EQ(said_of(filled({32, 8}, 0.5F)),
            "given: found nothing but 1 for input 'mask', expected samples as the network meets them");
}

}  // namespace
}  // namespace halfstep::train
