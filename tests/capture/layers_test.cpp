#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "halfstep/engine/capture/errors.h"
#include "halfstep/engine/capture/layers/attention.h"
#include "halfstep/engine/capture/layers/image_layers.h"
#include "halfstep/engine/capture/layers/recurrent.h"
#include "halfstep/engine/capture/random_arrays.h"
#include "tests/capture/captured.h"
#include "tests/support/error.h"

namespace halfstep::capture {
namespace {

struct Case {
  const char* name;
  std::function<std::shared_ptr<Module>()> make;
  Dims x;
};

template <class Layer, class... Settings>
Case layer(const char* name, Dims x, Settings... settings) {
  return {name, [=] { return std::make_shared<Layer>(settings...); }, std::move(x)};
}

using Axes = layers::Axes;

/// The layers of CPP in python/tests/test_layers_in_cpp.py, in its order.
std::vector<Case> cases() {
  const ConvOptions conv{.stride = {2}, .padding = {1}, .dilation = {2}, .groups = 2, .bias = false};
  const ConvTransposeOptions transposed{.stride = {2}, .padding = {1}, .output_padding = {1}, .groups = 2};
  const RecurrentOptions both{.num_layers = 2, .batch_first = true, .dropout = 0.5, .bidirectional = true};
  const layers::Resampling twice{.scale = {2}, .mode = "nearest"};
  const layers::Resampling corners{.size = {9, 3}, .mode = "bilinear", .align_corners = true};
  return {
      layer<Conv1d>("conv1d", {2, 4, 9}, 4, 6, Axes{3}),
      layer<Conv1d>("conv1d_settings", {2, 4, 9}, 4, 6, Axes{3}, conv),
      layer<Conv2d>("conv2d_circular", {2, 4, 7, 8}, 4, 6, Axes{3, 2},
                    ConvOptions{.padding = {1, 2}, .padding_mode = "circular"}),
      layer<Conv3d>("conv3d", {1, 2, 4, 5, 6}, 2, 3, Axes{2}, ConvOptions{}),
      layer<ConvTranspose1d>("conv_transpose1d", {2, 4, 5}, 4, 6, Axes{3}, transposed),
      layer<ConvTranspose2d>("conv_transpose2d", {2, 4, 5, 4}, 4, 6, Axes{3, 2}, transposed),
      layer<ConvTranspose3d>("conv_transpose3d", {1, 2, 3, 4, 3}, 2, 3, Axes{2}),
      layer<MaxPool1d>("max_pool1d", {2, 3, 10}, Axes{3}, PoolOptions{.stride = {2}, .padding = {1}}),
      layer<MaxPool3d>("max_pool3d", {1, 2, 4, 5, 6}, Axes{2}, PoolOptions{.ceil_mode = true}),
      layer<AvgPool1d>("avg_pool1d", {2, 3, 10}, Axes{3}, PoolOptions{.padding = {1}, .ceil_mode = true}),
      layer<AvgPool3d>("avg_pool3d", {1, 2, 4, 5, 6}, Axes{2}, PoolOptions{.padding = {1}, .count_include_pad = false}),
      layer<InstanceNorm>("instance_norm", {2, 3, 9}, 3),
      layer<InstanceNorm>("instance_norm_affine", {2, 3, 5, 4}, 3, 1e-3, true),
      layer<GroupNorm>("group_norm", {2, 6, 5, 4}, 2, 6),
      layer<Prelu>("prelu", {2, 3, 5, 4}, 3, 0.5),
      layer<Upsample>("nearest", {2, 3, 5, 4}, twice),
      layer<Upsample>("bilinear", {2, 3, 5, 4}, corners),
      layer<Embedding>("embedding", {}, 7, 5),
      layer<Rnn>("rnn", {6, 3, 4}, 4, 5, RecurrentOptions{.bias = false}, "relu"),
      layer<Gru>("gru", {3, 6, 4}, 4, 5, both),
      layer<Lstm>("lstm", {3, 6, 4}, 4, 5, both),
      layer<MultiheadAttention>("attention", {5, 3, 8}, 8, 2, AttentionOptions{.dropout = 0.25}),
      layer<TransformerEncoderLayer>("encoder", {5, 3, 8}, 8, 2, TransformerOptions{.feedforward = 16}),
      layer<TransformerEncoderLayer>("encoder_settings", {3, 5, 8}, 8, 4,
                                     TransformerOptions{.feedforward = 16,
                                                        .dropout = 0,
                                                        .activation = "gelu",
                                                        .epsilon = 1e-3,
                                                        .batch_first = true,
                                                        .norm_first = true,
                                                        .bias = false}),
  };
}

TEST(Layers, AreTheSameInPython) {
  Switches training = switches();
  training.training = true;
  for (const Case& each : cases()) {
    seed(7);
    const auto made = each.make();
    std::string names;
    for (const auto& [name, array] : made->named_arrays()) names += " " + name;
    // Ids of an embedding, else numbers.
    const Array x =
        each.x.empty() ? Array(Tensor::of<int64_t>(DType::i64, {3}, std::vector<int64_t>{0, 6, 3})) : normal(each.x);
    const Switched with(training);
    const Array y = (*made)(x);
    std::printf("layer %s%s\nvalues", each.name, names.c_str());
    for (const float value : test::values(y)) std::printf(" %a", static_cast<double>(value));
    std::printf("\n");
  }
}

TEST(Layers, KeepStatesAndHideKeys) {
  seed(1);
  Lstm lstm(4, 5);
  const Array x = normal({6, 3, 4});
  const Arrays all = lstm(x, Arrays());
  const Arrays half = lstm(layers::rows(x, 0, 3), Arrays());
  const Arrays rest = lstm(layers::rows(x, 3, 6), {half[1], half[2]});
  for (const size_t state : {1, 2}) {  // Between two calls, states are rounded to f32.
    for (size_t i = 0; i < 15; ++i) EXPECT_NEAR(test::values(rest[state])[i], test::values(all[state])[i], 1e-6);
  }

  MultiheadAttention attention(8, 2);
  const Array tokens = normal({5, 3, 8});
  Array hidden(Tensor(DType::boolean, {3, 5}));
  const Arrays seen = attention({tokens, tokens, tokens}, {.keys = hidden}, true, false);
  EXPECT_EQ(seen[1].dims(), (Dims{3, 2, 5, 5}));
  test::expect_same({seen[0]}, {attention(tokens)});
}

TEST(Layers, RefuseSettingsByName) {
  const auto refused = [](const std::function<void()>& make) { return halfstep::test::diagnostic_of(make); };
  EXPECT_EQ(refused([] {
              Conv3d(2, 2, {1, 2});
            }),
            errors::layer_setting_invalid("Conv3d: kernel_size", "[1, 2]", "1 or 3 numbers"));
  EXPECT_EQ(refused([] { Conv1d(2, 2, {2}, {.padding_mode = "mirror"}); }),
            errors::layer_setting_invalid("Conv1d: padding_mode", "'mirror'", "zeros, reflect, replicate or circular"));
  EXPECT_EQ(refused([] { Conv2d(4, 6, {2}, {.groups = 4}); }),
            errors::layer_setting_invalid("Conv2d: groups", "4", "a divisor of 4 and 6 channels"));
  EXPECT_EQ(refused([] { Gru(2, 3, {.num_layers = 0}); }),
            errors::layer_setting_invalid("gru: num_layers", "0", "1 or more"));
  EXPECT_EQ(refused([] { Rnn(2, 3, {}, "gelu"); }),
            errors::layer_setting_invalid("RNN: nonlinearity", "'gelu'", "tanh or relu"));
  EXPECT_EQ(refused([] { MultiheadAttention(6, 4); }),
            errors::layer_setting_invalid("MultiheadAttention: num_heads", "4", "a divisor of embed_dim 6"));
  EXPECT_EQ(refused([] { TransformerEncoderLayer(4, 2, {.activation = "silu"}); }),
            errors::layer_setting_invalid("TransformerEncoderLayer: activation", "'silu'", "relu or gelu"));
  EXPECT_EQ(refused([] {
              Upsample({.scale = {2}, .mode = "area"})(test::array({1}, {1, 1, 1}));
            }).where,
            "Upsample: mode");
}

}  // namespace
}  // namespace halfstep::capture
