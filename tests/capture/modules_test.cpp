#include "halfstep/capture/modules.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "halfstep/capture/random.h"
#include "halfstep/capture/step.h"
#include "tests/capture/captured.h"

namespace halfstep::capture {
namespace {

std::shared_ptr<Sequential> small_network() {
  seed(3);
  const auto flat = [](const Array& x) { return apply("flatten", {x}); };
  const auto relu = [](const Array& x) { return apply("relu", {x}); };
  return std::make_shared<Sequential>(std::vector<std::shared_ptr<Module>>{
      std::make_shared<Conv2d>(1, 4, 3, 1, 1), std::make_shared<BatchNorm2d>(4), std::make_shared<Pointwise>(relu),
      std::make_shared<Pointwise>(flat), std::make_shared<Linear>(64, 3)});
}

Arrays trained(bool captures) {
  const auto network = small_network();
  Sgd optimizer(network->parameters(), 0.1, 0.9, 1e-4);
  Function step([&](const Arrays& in) -> Arrays {
    optimizer.zero_gradients();
    const Array loss = cross_entropy((*network)(in[0]), in[1]);
    backward(loss);
    optimizer.step();
    return {loss};
  });
  Switches now = switches();
  now.captures = captures;
  now.training = true;
  const Switched with(now);
  Arrays results;
  for (int i = 0; i < 6; ++i) {
    const Array x = normal({8, 1, 4, 4});
    const Array labels(Tensor::of<int32_t>(DType::i32, {8}, std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0, 1}));
    results.push_back(step({x, labels})[0]);
  }
  for (const auto& [name, array] : network->named_arrays()) results.push_back(array);
  return results;
}

TEST(Modules, TrainTheSameCapturedAndNot) {
  const Arrays step_by_step = trained(false);
  test::expect_same(trained(true), step_by_step);
  // Python does the same and compares (python/tests/test_functions.py).
  for (size_t i = 0; i < 6; ++i) std::printf("loss %a\n", static_cast<double>(test::values(step_by_step[i])[0]));
  EXPECT_LT(test::values(step_by_step[5])[0], 2);
}

TEST(Modules, NameTheirArrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : small_network()->named_arrays()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "1.mean", "1.variance",
                                             "4.weight", "4.bias"}));
}

}  // namespace
}  // namespace halfstep::capture
