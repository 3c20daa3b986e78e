// A network trains alike in Halfstep's training loop and in an external one. One step of gradient descent on one batch
// moves the same tensors by the same amounts, whatever training derives from weights and scales.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "halfstep/core/base/random.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/halfstep.h"
#include "halfstep/train/loop/fit.h"
#include "halfstep/train/loop/joint_graph.h"
#include "halfstep/train/loop/units.h"

namespace halfstep::api {
namespace {

constexpr int64_t kSamples = 60, kBatch = 16, kClasses = 3;
constexpr double kRate = 0.02;

/// Layers with and without a bias, with and without batch norms. Two layers share a weight. There are convolutions and
/// linear layers.
constexpr const char* kNetwork = R"(graph faces(x: f32[?, 2, 6, 6]) {
  param @a: f32[4, 2, 3, 3]
  param @ab: f32[4]
  param @ag: f32[4]
  param @ah: f32[4]
  state @am: f32[4]
  state @av: f32[4]
  param @b: f32[4, 4, 3, 3]
  param @bg: f32[4]
  param @bh: f32[4]
  state @bm: f32[4]
  state @bv: f32[4]
  param @s: f32[4, 4, 3, 3]
  param @l: f32[6, 144]
  param @lg: f32[6]
  param @lh: f32[6]
  state @lm: f32[6]
  state @lv: f32[6]
  param @h: f32[3, 6]
  param @hb: f32[3]
  a = conv2d(x, w=@a, b=@ab) {pad: [1, 1, 1, 1]}
  an = batch_norm(x=a, scale=@ag, bias=@ah, mean=@am, variance=@av)
  ar = relu(an)
  b = conv2d(ar, w=@b) {pad: [1, 1, 1, 1]}
  bn = batch_norm(x=b, scale=@bg, bias=@bh, mean=@bm, variance=@bv) {momentum: 0.5}
  br = relu(bn)
  once = conv2d(br, w=@s) {pad: [1, 1, 1, 1]}
  onced = relu(once)
  twice = conv2d(onced, w=@s) {pad: [1, 1, 1, 1]}
  sum = add(a=twice, b=br)
  flat = flatten(sum)
  l = linear(flat, w=@l)
  ln = batch_norm(x=l, scale=@lg, bias=@lh, mean=@lm, variance=@lv)
  lr = relu(ln)
  y = linear(lr, w=@h, b=@hb)
  return y
}
)";

Model network() {
  Model model;
  model.graph = parse(kNetwork, "faces.ir");
  uint64_t stream = 0;
  for (const Value tensor : model.graph.tensors()) {
    Random random(11, ++stream);
    Tensor contents(DType::f32, tensor.dims());
    const bool is_positive = tensor.name().ends_with("v") || tensor.name().ends_with("g");
    const double spread =
        1 / std::sqrt(static_cast<double>(tensor.dims().size() < 2 ? 4 : contents.size() / tensor.dims()[0]));
    for (float& element : contents.data<float>())
      element =
          is_positive ? 0.5F + random.uniform() : static_cast<float>(spread * static_cast<double>(random.normal()));
    model.tensors[tensor.name()] = std::move(contents);
  }
  return model;
}

const Dataset& samples() {
  static const Dataset kData = [] {
    Dataset data;
    data.name = "random";
    data.raw = false;
    data.x = Tensor(DType::f32, {kSamples, 2, 6, 6});
    Random random(5, 0);
    for (float& value : data.x.data<float>()) value = random.normal();
    data.labels = Tensor(DType::i32, {kSamples});
    for (int64_t i = 0; i < kSamples; ++i)
      data.labels.data<int32_t>()[static_cast<size_t>(i)] = static_cast<int32_t>(i % kClasses);
    data.classes = {"0", "1", "2"};
    return data;
  }();
  return kData;
}

/// The samples of one step. The run has no others.
data::Samples batch() {
  data::Samples few{&samples(), {}, "x", {}};
  for (int64_t i = 0; i < kBatch; ++i) few.indices.push_back(i);
  return few;
}

struct Form {
  const char* name;
  quant::BatchNorms batch_norms = quant::BatchNorms::folded;
  int bits = 8;
  const char* platform = "generic_int8";
  std::vector<std::pair<std::string, std::string>> overrides = {};
  bool duplicates = false, in_float = false, has_integers = true;

  Model model() const {
    if (in_float) return network();
    QuantizeOptions options;
    options.prepare = {.weight_bits = bits, .activation_bits = bits, .first_last_bits = {}};
    options.prepare.batch_norm = batch_norms;
    if (duplicates) options.prepare.shared_weights = quant::SharedWeights::duplicate;
    return quantize(network(), quant::load_platform(platform, overrides), samples(), options, {}).model;
  }
};
std::ostream& operator<<(std::ostream& out, const Form& form) { return out << form.name; }

constexpr auto kFrozen = quant::BatchNorms::frozen, kLive = quant::BatchNorms::live,
               kFolded = quant::BatchNorms::folded;

std::vector<Form> forms() {
  std::vector<Form> all = {{.name = "in_float", .in_float = true}};
  const std::pair<const char*, std::vector<std::pair<std::string, std::string>>> activations[] = {
      {"observed", {}},
      {"lsq_plus", {{"activations.quantizer", "lsq_plus"}}},
      {"pact", {{"activations.quantizer", "pact"}}},
      {"dsq", {{"activations.quantizer", "dsq"}, {"weights.quantizer", "dsq"}}},
      {"qdrop", {{"activations.quantizer", "qdrop"}}}};
  const std::pair<const char*, quant::BatchNorms> norms[] = {{"folded", kFolded}, {"frozen", kFrozen}, {"live", kLive}};
  static std::deque<std::string> names;
  for (const auto& [norm, batch_norms] : norms) {
    const auto name = [&](const std::string& what) {
      return names.emplace_back(std::string(norm) + "_" + what).c_str();
    };
    all.push_back({.name = name("8_bits"), .batch_norms = batch_norms});
    all.push_back({.name = name("duplicated"), .batch_norms = batch_norms, .duplicates = true});
    for (const auto& [kind, overrides] : activations)
      all.push_back({.name = name(kind), .batch_norms = batch_norms, .bits = 4, .overrides = overrides});
    all.push_back({.name = name("tqt"),
                   .batch_norms = batch_norms,
                   .bits = 4,
                   .platform = "pow2_int8",
                   .overrides = {{"activations.quantizer", "tqt"}, {"weights.quantizer", "tqt"}}});
    all.push_back({.name = name("apot"),
                   .batch_norms = batch_norms,
                   .bits = 4,
                   .overrides = {{"weights.quantizer", "apot"}},
                   .has_integers = false});
  }
  for (const char* kind : {"dorefa", "adaround"})
    all.push_back({.name = kind, .bits = 4, .overrides = {{"weights.quantizer", kind}}, .duplicates = true});
  return all;
}

/// The gradient of the mean cross-entropy.
Tensor slope_of(const Tensor& logits, const Tensor& labels) {
  Tensor slope(DType::f32, logits.dims());
  for (size_t row = 0; row < static_cast<size_t>(kBatch); ++row) {
    const auto given = logits.data<float>().subspan(row * kClasses, kClasses);
    double sum = 0;
    for (const float one : given) sum += std::exp(double{one});
    for (size_t c = 0; c < given.size(); ++c) {
      const double right = labels.data<int32_t>()[row] == static_cast<int32_t>(c) ? 1 : 0;
      slope.data<float>()[row * kClasses + c] = static_cast<float>((std::exp(double{given[c]}) / sum - right) / kBatch);
    }
  }
  return slope;
}

/// The network after one step of `train::Fit`.
Model by_us(const Model& model) {
  train::FitOptions options;
  options.epochs = 1;
  options.batch = kBatch;
  options.learning_rate = kRate;
  options.warmup = 0;
  options.optimizer.momentum = 0;
  ThreadPool pool(1);
  const data::Samples all = batch();
  train::Fit fit(model, all, options, pool);
  fit.run_epoch();
  return fit.current();
}

/// Unit of a parameter: a step moves the parameter by the gradient times the square of this.
Tensor unit_of(const std::map<std::string, Tensor>& units, const std::string& name, const Dims& dims) {
  Tensor unit(DType::f32, dims);
  const auto found = units.find(name);
  if (found == units.end()) {
    std::ranges::fill(unit.data<float>(), 1.0F);
    return unit;
  }
  const size_t rows = static_cast<size_t>(found->second.size()), each = static_cast<size_t>(unit.size()) / rows;
  for (size_t i = 0; i < static_cast<size_t>(unit.size()); ++i)
    unit.data<float>()[i] = found->second.data<float>()[i / each];  // channels are the first axis
  return unit;
}

/// One step in an external loop: moves the tensors of `model` by the gradients of a Trainable.
void by_hand(const Model& model) {
  const bool is_prepared = stage_of(model) == Stage::prepared;
  const auto units = is_prepared ? train::units_of(model, {}) : std::map<std::string, Tensor>();
  Trainable trainable(model, 1);
  std::vector<std::string> wanted;
  for (const auto& [name, role] : trainable.roles()) {
    if (role == Role::parameter) wanted.push_back(name);
  }
  const data::Samples all = batch();
  const std::vector<int64_t> order = Random(0, 0).permutation(kBatch);
  auto run = trainable.forward(all.inputs(0, kBatch, &order), wanted);
  const Tensors gradients = run.backward({{"y", slope_of(run.outputs().at("y"), all.labels(0, kBatch, &order))}});
  Tensors steps;
  double squares = 0;
  for (const auto& [name, gradient] : gradients) {
    Tensor& step = steps[name] = gradient.clone();
    const Tensor unit = unit_of(units, name, gradient.dims());
    for (size_t i = 0; i < static_cast<size_t>(step.size()); ++i) {
      const float measured = step.data<float>()[i] * unit.data<float>()[i];
      squares += double{measured} * double{measured};
      step.data<float>()[i] = measured * unit.data<float>()[i];
    }
  }
  const double clip = is_prepared ? std::min(1.0, 1 / std::sqrt(squares)) : 1;
  const auto scales = train::learned_scales(model);
  for (const auto& [name, step] : steps) {
    Tensor tensor = model.tensors.at(name);
    for (size_t i = 0; i < static_cast<size_t>(step.size()); ++i) {
      float& element = tensor.data<float>()[i];
      const float moved = element - static_cast<float>(kRate * clip * double{step.data<float>()[i]});
      element = scales.contains(name) ? std::clamp(moved, element / 2, element * 2) : moved;
    }
  }
  trainable.settle();
}

/// Largest absolute difference between two float tensors.
double distance(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (size_t i = 0; i < static_cast<size_t>(a.size()); ++i)
    most = std::max(most, std::fabs(double{a.data<float>()[i]} - double{b.data<float>()[i]}));
  return most;
}

class Faces : public testing::TestWithParam<Form> {};

// A2.8, A2.10, A2.11
TEST_P(Faces, OneStepMovesTheSameTensorsByTheSameAmounts) {
  const Model before = GetParam().model(), hand = clone(before);
  const Model ours = by_us(before);
  by_hand(hand);
  for (const auto& [name, tensor] : ours.tensors) {
    const Tensor &was = before.tensors.at(name), &now = hand.tensors.at(name);
    EXPECT_EQ(tensor.same_bits(was), now.same_bits(was)) << name;
    if (tensor.dtype() != DType::f32) {
      EXPECT_TRUE(tensor.same_bits(now)) << name;
      continue;
    }
    EXPECT_LE(distance(tensor, now),
              2e-3 * distance(tensor, was) + 1e-6 * distance(was, Tensor(DType::f32, was.dims())))
        << name << " moved by " << distance(tensor, was) << ", and by hand by " << distance(now, was);
  }
  Trainable trainable(clone(before), 1);
  for (const auto& [name, role] : trainable.roles()) {
    const Tensor& was = before.tensors.at(name);
    if (role == Role::parameter && was.dims().size() > 1) {
      EXPECT_FALSE(hand.tensors.at(name).same_bits(was)) << name;
    }
  }
  if (GetParam().in_float || !GetParam().has_integers) return;
  const auto proof = verify(hand, convert(hand).model, samples(), {}, {});
  EXPECT_TRUE(proof.equal()) << report::verdict(proof);
}

/// Settling does not recompute tensors that no step moved.
TEST_P(Faces, SettlingANetworkChangesNoBit) {
  const Model model = GetParam().model(), other = clone(model);
  Trainable(other, 1).settle();
  for (const auto& [name, tensor] : model.tensors) EXPECT_TRUE(tensor.same_bits(other.tensors.at(name))) << name;
}

INSTANTIATE_TEST_SUITE_P(Forms, Faces, testing::ValuesIn(forms()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace halfstep::api
