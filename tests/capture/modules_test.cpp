#include "halfstep/engine/capture/modules.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/layers/image_layers.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "halfstep/engine/capture/tape.h"
#include "tests/capture/captured.h"
#include "tests/support/error.h"

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

/// Losses of six training steps, and the arrays of the network. `batch` returns the inputs and the labels.
Arrays six_steps(Module& network, Optimizer& optimizer, const std::function<Arrays()>& batch, bool captures) {
  Function step([&](const Arrays& in) -> Arrays {
    optimizer.zero_gradients();
    const Array loss = cross_entropy(network(in[0]), in[1]);
    backward(loss);
    optimizer.step();
    return {loss};
  });
  Switches now = switches();
  now.captures = captures;
  now.training = true;
  const Switched with(now);
  Arrays results;
  for (int i = 0; i < 6; ++i) results.push_back(step(batch())[0]);
  for (const auto& [name, array] : network.named_arrays()) results.push_back(array);
  return results;
}

Arrays trained(bool captures) {
  const auto network = small_network();
  const Array labels(Tensor::of<int32_t>(DType::i32, {8}, std::vector<int32_t>{0, 1, 2, 0, 1, 2, 0, 1}));
  const auto batch = [&] { return Arrays{normal({8, 1, 4, 4}), labels}; };
  Sgd optimizer(network->parameters(), 0.1, 0.9, 1e-4);
  return six_steps(*network, optimizer, batch, captures);
}

TEST(Modules, TrainTheSameCapturedAndNot) {
  const Arrays step_by_step = trained(false);
  test::expect_same(trained(true), step_by_step);
  // Python runs the same steps and compares the losses (python/tests/test_functions.py).
  for (size_t i = 0; i < 6; ++i) std::printf("loss %a\n", static_cast<double>(test::values(step_by_step[i])[0]));
  EXPECT_LT(test::values(step_by_step[5])[0], 2);
}

/// Reads the letters of a text one after the other, and classifies the text.
class Reader : public Module {
 public:
  Reader() {
    add_part("letters", letters_);
    add_part("norm", norm_);
    add_part("cell", cell_);
    add_part("head", head_);
  }
  Array operator()(const Array& ids) override {
    const Array rows = (*norm_)((*letters_)(ids));
    std::pair<Array, Array> state = {full({DType::f32, {4, 6}}, 0), full({DType::f32, {4, 6}}, 0)};
    for (int64_t t = 0; t < 3; ++t)
      state = (*cell_)(apply("gather", {rows, Array(Tensor::of<int64_t>(DType::i64, {}, std::vector<int64_t>{t}))},
                             {{"axis", int64_t{1}}}),
                       state);
    return (*head_)(drop_(state.first));
  }

 private:
  std::shared_ptr<Embedding> letters_ = std::make_shared<Embedding>(7, 5);
  std::shared_ptr<LayerNorm> norm_ = std::make_shared<LayerNorm>(Dims{5});
  std::shared_ptr<LstmCell> cell_ = std::make_shared<LstmCell>(5, 6);
  std::shared_ptr<Linear> head_ = std::make_shared<Linear>(6, 2);
  Dropout drop_{0.25};
};

Arrays read(bool captures) {
  seed(5);
  Reader reader;
  const Array ids(Tensor::of<int64_t>(DType::i64, {4, 3}, std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 0, 3, 2, 2, 1}));
  const Array labels(Tensor::of<int32_t>(DType::i32, {4}, std::vector<int32_t>{0, 1, 0, 1}));
  const auto batch = [&] { return Arrays{ids, labels}; };
  Adam optimizer(reader.parameters(), {.learning_rate = 0.05});
  return six_steps(reader, optimizer, batch, captures);
}

TEST(Modules, ReadTheSameCapturedAndNot) {
  const Arrays step_by_step = read(false);
  test::expect_same(read(true), step_by_step);
  // Python runs the same steps and compares the losses (python/tests/test_functions.py).
  for (size_t i = 0; i < 6; ++i) std::printf("loss %a\n", static_cast<double>(test::values(step_by_step[i])[0]));
}

TEST(Modules, PoolAndAreCompared) {
  const Array x = test::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, {1, 1, 4, 4});
  EXPECT_EQ(test::values(MaxPool2d(2, 2)(x)), (std::vector<float>{6, 8, 14, 16}));
  EXPECT_EQ(test::values(AvgPool2d(2, 2)(x)), (std::vector<float>{3.5, 5.5, 11.5, 13.5}));
  EXPECT_EQ(test::values(mse(test::array({1, 2}), test::array({3, 5})))[0], 6.5);
  EXPECT_EQ(Dropout(0.5)(x).cell(), x.cell()) << "in evaluation it is given on";
}

TEST(Modules, KeepTheirState) {
  const auto network = small_network(), other = small_network();
  Tensors state = network->state();
  for (float& value : state.at("4.bias").data<float>()) value = 2;
  other->load_state(state);
  EXPECT_EQ(test::values(other->named_arrays().back().second), (std::vector<float>{2, 2, 2}));
  state.erase("0.weight");
  state.emplace("9.weight", Tensor(DType::f32, {2}));
  state.at("0.bias") = Tensor(DType::f32, {5});
  const auto wrong = halfstep::test::diagnostics_of([&] { other->load_state(state); });
  ASSERT_EQ(wrong.size(), 3U);
  EXPECT_EQ(wrong[0].entry, &errors::state_does_not_fit_entry);
  EXPECT_EQ(wrong[0].where, "load_state: '0.weight'");
  EXPECT_EQ(wrong[1], errors::state_does_not_fit("load_state: '0.bias'", "f32[5]", "f32[4]"));
  EXPECT_EQ(wrong[2].where, "load_state: '9.weight'");
  EXPECT_EQ(halfstep::test::diagnostic_of([] { Dropout dropout(1); }), errors::dropout_rate_out_of_range(1.0));
}

TEST(Modules, NameTheirArrays) {
  std::vector<std::string> names;
  for (const auto& [name, array] : small_network()->named_arrays()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                                             "1.running_var", "4.weight", "4.bias"}));
}

}  // namespace
}  // namespace halfstep::capture
