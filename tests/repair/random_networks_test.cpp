// Every repair method on random networks: skips over many layers, branches, concatenations, outputs in the middle.
// Their blocks have several inputs and outputs, unlike those in other tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/train/loop/builtin_networks.h"
#include "halfstep/tune/repair/part.h"
#include "tests/repair/digits.h"

namespace halfstep::repair {
namespace {

constexpr int64_t kSamples = 40, kChannels = 3, kSide = 5;
constexpr uint64_t kNetworks = 6;

/// The text of a network on [n, channels, side, side]. Each value reads the last one, and often an earlier one from far
/// before.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : random_(seed, 0) {}

  Model run() {
    values_.push_back({"x", kChannels});
    layer();
    while (layers_ < kLayers) step();
    const std::string trunk = concat(unread());
    const int64_t channels = values_.back().channels;
    declare("head", fmt::format("{}, {}", 4, channels * kSide * kSide));
    const std::string flat = add_line(channels, "flatten(x={})", trunk);
    const std::string head = add_line(4, "linear(x={}, w=@head)", flat);
    const std::string text = fmt::format("graph g(x: f32[?, {}, {}, {}]) {{\n{}{}  return {}\n}}\n", kChannels, kSide,
                                         kSide, declared_, body_, outputs(head));
    return train::initialize(parse(text, "g.ir"), 7);
  }

 private:
  static constexpr int kLayers = 11;  ///< more layers than one block learns at once

  struct Value {
    std::string name;
    int64_t channels;
    bool is_read = false;
  };

  void step() {
    switch (random_.below(6)) {
      case 0: sum(); break;
      case 1: concat({far(), values_.back().name}); break;
      case 2:
        add_line(values_.back().channels, "max_pool2d(x={}) {{kernel: [3, 3], stride: [1, 1], pad: [1, 1, 1, 1]}}",
                 read(values_.size() - 1));
        break;
      default: layer();
    }
  }

  void layer() {
    const size_t from = random_.below(4) == 0 ? random_.below(values_.size()) : values_.size() - 1;
    const std::string name = fmt::format("w{}", layers_++);
    declare(name, fmt::format("{}, {}, 3, 3", kChannels, values_[from].channels));
    const bool has_bias = random_.below(3) != 0;
    if (has_bias) declare(name + "b", fmt::format("{}", kChannels));
    const std::string sums = add_line(kChannels, "conv2d(x={}, w=@{}{}) {{pad: [1, 1, 1, 1]}}", read(from), name,
                                      has_bias ? fmt::format(", b=@{}b", name) : "");
    if (random_.below(3) != 0) add_line(kChannels, "relu(x={})", (read(values_.size() - 1)));
  }

  /// Adds the last value and the first value with as many channels.
  void sum() {
    const int64_t channels = values_.back().channels;
    size_t other = 0;
    while (values_[other].channels != channels) ++other;
    if (other + 1 == values_.size()) return layer();
    const std::string a = read(values_.size() - 1), b = read(other);
    add_line(channels, "add(a={}, b={})", a, b);
  }

  std::string concat(const std::vector<std::string>& names) {
    int64_t channels = 0;
    for (const std::string& name : names) channels += read(name).channels;
    return add_line(channels, "concat(x=[{}]) {{axis: 1}}", fmt::join(names, ", "));
  }

  std::string far() { return values_[random_.below(values_.size() - 1)].name; }

  std::vector<std::string> unread() const {
    std::vector<std::string> names;
    for (const Value& value : values_) {
      if (!value.is_read) names.push_back(value.name);
    }
    return names;
  }

  /// The head, and often a value from the middle.
  std::string outputs(const std::string& head) {
    const std::string middle = values_[1 + random_.below(values_.size() - 1)].name;
    return random_.below(2) == 0 || middle == head ? head : head + ", " + middle;
  }

  std::string read(size_t at) {
    values_[at].is_read = true;
    return values_[at].name;
  }
  const Value& read(const std::string& name) {
    Value& value = *std::ranges::find(values_, name, &Value::name);
    value.is_read = true;
    return value;
  }

  void declare(const std::string& name, const std::string& extents) {
    declared_ += fmt::format("  param @{}: f32[{}]\n", name, extents);
  }

  template <class... Parts>
  std::string add_line(int64_t channels, fmt::format_string<Parts...> text, Parts&&... parts) {
    values_.push_back({fmt::format("v{}", values_.size()), channels});
    body_ += fmt::format("  {} = {}\n", values_.back().name, fmt::format(text, std::forward<Parts>(parts)...));
    return values_.back().name;
  }

  Random random_;
  std::vector<Value> values_;
  std::string declared_, body_;
  int layers_ = 0;
};

api::Dataset samples() {
  api::Dataset data;
  data.name = "random";
  data.raw = false;
  data.x = Tensor(DType::f32, {kSamples, kChannels, kSide, kSide});
  Random random(1, 0);
  for (float& value : data.x.data<float>()) value = random.normal();
  return data;
}

api::QuantizeOptions with(const std::string& method) {
  api::QuantizeOptions options;
  options.prepare = {.weight_bits = 4, .activation_bits = 4, .first_last_bits = {}};
  options.repair.methods = {method};
  options.repair.steps = 2;
  options.repair.batch = 8;
  return options;
}

std::vector<std::string> all_methods() {
  std::vector<std::string> names = {kAuto};
  for (const MethodInfo& method : method_list()) names.emplace_back(method.name);
  return names;
}

class OnRandomNetworks : public testing::TestWithParam<uint64_t> {};

TEST_P(OnRandomNetworks, EveryMethodRunsAndItsIntegersAreProven) {
  const Model network = RandomNetwork(GetParam()).run();
  const api::Dataset data = samples();
  const auto platform = quant::load_platform("generic_int8");
  for (const std::string& method : all_methods()) {
    SCOPED_TRACE(method + " of\n" + api::graph_text(network));
    const api::QuantizeResult repaired = api::quantize(network, platform, data, with(method), {});
    const Report& report = *repaired.repair;
    EXPECT_TRUE(std::isfinite(report.first.loss));
    EXPECT_LE(report.last.loss, report.first.loss);
    const auto program = api::convert(repaired.model);
    EXPECT_TRUE(api::verify(repaired.model, program.model, data, {}, {}).equal());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OnRandomNetworks, testing::Range(uint64_t{0}, kNetworks));

/// Checks the premise of the test above: several values enter and leave a block that learns.
TEST(RandomNetworks, HaveBlocksOfSeveralInputsAndOutputs) {
  size_t inputs = 0, outputs = 0;
  for (uint64_t seed = 0; seed < kNetworks; ++seed) {
    const Model prepared = quant::prepare(RandomNetwork(seed).run(), quant::load_platform("generic_int8"));
    for (const Block& block : blocks_of(prepared, Grain::blocks)) {
      inputs = std::max(inputs, block.inputs.size());
      outputs = std::max(outputs, block.outputs.size());
    }
  }
  EXPECT_GE(inputs, 3U);
  EXPECT_GE(outputs, 3U);
}

}  // namespace
}  // namespace halfstep::repair
