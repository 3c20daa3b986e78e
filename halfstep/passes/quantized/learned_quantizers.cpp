#include "halfstep/passes/quantized/learned_quantizers.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "halfstep/core/arith/learning.h"
#include "halfstep/core/arith/range.h"
#include "halfstep/core/base/channel_elements.h"
#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/errors.h"
#include "halfstep/passes/quantized/own_quantizers.h"
#include "halfstep/passes/quantized/quantized_steps.h"

namespace halfstep::passes {

using ops::FakeQuantize;

std::vector<FakeQuantize> quantizers_of(const Graph& graph, const std::string& scale) {
  std::vector<FakeQuantize> found;
  for (const auto& quantizer : graph.all<FakeQuantize>()) {
    if (scale_tensor(quantizer).name() == scale) found.push_back(quantizer);
  }
  return found;
}

namespace {

ops::ObserveRange observer_of(const Graph& graph, const std::string& scale) {
  for (const auto& [user, operand] : graph.tensor(scale).uses()) {
    if (has_trait(user, Trait::observer)) return ops::ObserveRange(user.node());
  }
  fail(errors::scale_without_observer(graph.name(), scale));
}

arith::CodeRule rule_of(const FakeQuantize& quantizer) {
  return {static_cast<int32_t>(quantizer.code_min()), static_cast<int32_t>(quantizer.code_max()),
          quantizer.method() == "reciprocal", *arith::parse_rounding(quantizer.rounding())};
}

arith::CodeGrid grid_of(const ops::ObserveRange& observer) {
  return {static_cast<int32_t>(observer.code_min()), static_cast<int32_t>(observer.code_max()),
          *arith::parse_zero_points(observer.zero_points()), observer.power_of_two(), observer.nearest_power()};
}

template <class T>
std::span<T> own(Model& model, const std::string& name) {
  return own_contents(model, name).data<T>();
}

template <class T>
std::span<const T> contents(const Model& model, const std::string& name) {
  return std::as_const(model.tensors.at(name)).data<T>();
}

// Initialize learned parameters from calibration.

void start_choice(Model& model, const LearnedQuantizer& one, const FakeQuantize& quantizer) {
  const arith::CodeRule rule = rule_of(quantizer);
  const auto raw = contents<float>(model, one.raw), scale = contents<float>(model, one.scale);
  const auto choice = own<float>(model, one.choice);
  for_each_element(quantizer.x().dims(), quantizer.axis(), [&](size_t i, size_t c) {
    const float steps = arith::steps_of(raw[i], scale[c], rule);
    choice[i] = arith::Rectified::choice_of(steps - std::floor(steps));
  });
}

void start_ends(Model& model, const LearnedQuantizer& one) {
  const arith::CodeGrid grid = grid_of(observer_of(model.graph, one.scale));
  const float scale = contents<float>(model, one.scale)[0];
  const int32_t zero = contents<int32_t>(model, one.zero_point)[0];
  const bool centered = grid.zero_points == arith::ZeroPoints::centered;
  const double above =
      centered ? (static_cast<double>(grid.code_max) - grid.code_min) / 2.0 : static_cast<double>(grid.code_max) - zero;
  own<float>(model, one.high)[0] = static_cast<float>(above * static_cast<double>(scale));
  if (!one.low.empty())
    own<float>(model, one.low)[0] = static_cast<float>((static_cast<double>(grid.code_min) - zero) * scale);
}

void start(Model& model, const LearnedQuantizer& one) {
  const FakeQuantize quantizer = quantizers_of(model.graph, one.scale).front();
  const auto scale = contents<float>(model, one.scale);
  if (!one.choice.empty()) start_choice(model, one, quantizer);
  if (!one.high.empty()) start_ends(model, one);
  if (!one.log2_scale.empty()) {
    std::ranges::transform(scale, own<float>(model, one.log2_scale).begin(), [](float s) { return std::log2(s); });
  }
  if (!one.offset.empty()) {
    const auto zero_point = contents<int32_t>(model, one.zero_point);
    std::ranges::transform(zero_point, own<float>(model, one.offset).begin(),
                           [](int32_t zero) { return static_cast<float>(zero); });
  }
}

// Compute scale, zero point and weights from learned parameters.

void settle_dorefa(Model& model, const LearnedQuantizer& one) {
  const auto raw = contents<float>(model, one.raw);
  const auto weight = own<float>(model, one.weight);
  float largest = 0.0F;
  for (size_t i = 0; i < raw.size(); ++i) {
    weight[i] = std::tanh(raw[i]);
    largest = std::max(largest, std::abs(weight[i]));
  }
  for (float& element : weight) element /= largest + arith::kMagnitudeMargin;
}

void settle_choice(Model& model, const LearnedQuantizer& one) {
  const FakeQuantize quantizer = quantizers_of(model.graph, one.scale).front();
  const arith::CodeRule rule = rule_of(quantizer);
  const auto raw = contents<float>(model, one.raw), choice = contents<float>(model, one.choice),
             scale = contents<float>(model, one.scale);
  const auto zero_point = contents<int32_t>(model, one.zero_point);
  const auto weight = own<float>(model, one.weight);
  for_each_element(quantizer.x().dims(), quantizer.axis(), [&](size_t i, size_t c) {
    const float up = choice[i] >= 0.0F ? 1.0F : 0.0F;
    weight[i] = arith::real_between(arith::code_between(raw[i], up, scale[c], zero_point[c], rule), scale[c],
                                    zero_point[c], rule);
  });
}

void settle_ends(Model& model, const LearnedQuantizer& one) {
  const float high = contents<float>(model, one.high)[0];
  const float low = one.low.empty() ? -high : contents<float>(model, one.low)[0];
  const auto parameters = arith::parameters_of(low, high, grid_of(observer_of(model.graph, one.scale)));
  own<float>(model, one.scale)[0] = parameters.scale;
  own<int32_t>(model, one.zero_point)[0] = parameters.zero_point;
}

void settle(Model& model, const LearnedQuantizer& one) {
  if (!one.choice.empty()) return settle_choice(model, one);
  if (!one.raw.empty()) return settle_dorefa(model, one);
  if (!one.high.empty()) return settle_ends(model, one);
  if (!one.log2_scale.empty()) {
    std::ranges::transform(contents<float>(model, one.log2_scale), own<float>(model, one.scale).begin(),
                           arith::threshold_scale);
  }
  if (!one.offset.empty()) {
    const arith::CodeRule rule = rule_of(quantizers_of(model.graph, one.scale).front());
    std::ranges::transform(contents<float>(model, one.offset), own<int32_t>(model, one.zero_point).begin(),
                           [&](float offset) { return arith::whole_offset(offset, rule.code_min, rule.code_max); });
  }
}

/// Whether evaluation too computes the quantizer by its own operators.
bool is_uneven(QuantizerKind kind) {
  return kind == QuantizerKind::nnie || kind == QuantizerKind::apot || kind == QuantizerKind::own;
}

/// Builds the operators of one kind in place of a fake_quantize.
class QuantizerOpening {
 public:
  QuantizerOpening(Model& model, const LearnedQuantizer& one, FakeQuantize quantizer, int64_t number, bool trains)
      : model_(model),
        one_(one),
        q_(quantizer),
        number_(number),
        trains_(trains),
        builder_(Builder::before(model.graph, quantizer)) {
    builder_.at(quantizer.location());
  }

  void run() {
    switch (one_.kind) {
      case QuantizerKind::fixed:
      case QuantizerKind::lsq: return;
      case QuantizerKind::lsq_plus: return replace(offset());
      case QuantizerKind::pact: return clip();
      case QuantizerKind::dorefa: return normalize();
      case QuantizerKind::dsq: return replace(soft());
      case QuantizerKind::tqt: return round_scale();
      case QuantizerKind::nnie:
      case QuantizerKind::apot: return replace_under_its_name(levels());
      case QuantizerKind::adaround: return replace(adaptive());
      case QuantizerKind::qdrop: return drop();
      case QuantizerKind::own: return open_own_quantizer(model_, one_, q_, trains_);
    }
  }

 private:
  Value tensor(const std::string& name) const { return model_.graph.tensor(name); }
  std::string name(const char* what) const { return q_.name() + "." + what; }

  void replace(Value made) {
    q_.out().replace_all_uses_with(made);
    model_.graph.erase(q_);
  }

  /// Uses the name of the quantizer, because some readers find values by name.
  void replace_under_its_name(Value made) {
    const std::string name = q_.name();
    replace(made);
    model_.graph.rename(made.producer(), name);
  }

  /// Sets the attributes that quantizers share.
  template <class Inputs>
  Inputs with_codes(Inputs inputs) const {
    inputs.axis = q_.axis();
    inputs.code_min = q_.code_min();
    inputs.code_max = q_.code_max();
    inputs.method = q_.method();
    inputs.rounding = q_.rounding();
    return inputs;
  }

  Value offset() {
    const Value offset = tensor(one_.offset);
    const Value whole =
        ops::whole_offset(
            builder_,
            {.offset = offset, .code_min = q_.code_min(), .code_max = q_.code_max(), .name = name("whole_offset")})
            .out();
    return ops::fake_quantize_offset(builder_,
                                     with_codes(ops::FakeQuantizeOffset::Args{.x = q_.x(),
                                                                              .scale = q_.scale(),
                                                                              .zero_point = whole,
                                                                              .offset = offset,
                                                                              .gradient_scale = q_.gradient_scale(),
                                                                              .name = name("offset")}))
        .out();
  }

  void clip() {
    const Value high = tensor(one_.high), low = one_.low.empty() ? Value() : tensor(one_.low);
    const ops::ObserveRange observer = observer_of(model_.graph, one_.scale);
    const auto parameters = ops::range_parameters(builder_, {.high = high,
                                                             .low = low,
                                                             .code_min = q_.code_min(),
                                                             .code_max = q_.code_max(),
                                                             .zero_points = observer.zero_points(),
                                                             .power_of_two = observer.power_of_two(),
                                                             .nearest_power = observer.nearest_power(),
                                                             .name = name("parameters")});
    const Value clipped =
        ops::learned_clip(builder_, {.x = q_.x(), .high = high, .low = low, .name = name("clip")}).out();
    q_.set_operand(q_.info().input("x"), clipped);
    q_.set_operand(q_.info().input("scale"), parameters.scale());
    q_.set_operand(q_.info().input("zero_point"), parameters.zero_point());
  }

  void normalize() {
    const Value weight = tensor(one_.weight);
    if (weight.unused()) return;  // several quantizers may read it, and the first one replaced it for all
    Builder first = Builder::before(model_.graph, model_.graph.ops().front());
    const Value bent = ops::tanh(first, {.x = tensor(one_.raw), .name = name("tanh")}).out();
    weight.replace_all_uses_with(ops::unit_magnitude(first, {.x = bent, .name = name("unit")}).out());
  }

  Value soft() {
    return ops::fake_quantize_soft(builder_, with_codes(ops::FakeQuantizeSoft::Args{.x = q_.x(),
                                                                                    .scale = q_.scale(),
                                                                                    .zero_point = q_.zero_point(),
                                                                                    .softness = one_.number,
                                                                                    .name = name("soft")}))
        .out();
  }

  void round_scale() {
    const Value scale =
        ops::threshold_scale(builder_, {.log2_scale = tensor(one_.log2_scale), .name = name("power")}).out();
    q_.set_operand(q_.info().input("scale"), scale);
  }

  Value levels() {
    const char* kind = one_.kind == QuantizerKind::nnie ? "logarithmic" : "powers";
    return ops::fake_quantize_levels(builder_,
                                     with_codes(ops::FakeQuantizeLevels::Args{.x = q_.x(),
                                                                              .scale = q_.scale(),
                                                                              .zero_point = q_.zero_point(),
                                                                              .levels = kind,
                                                                              .gradient_scale = q_.gradient_scale(),
                                                                              .name = name("levels")}))
        .out();
  }

  Value adaptive() {
    return ops::adaptive_round(builder_, with_codes(ops::AdaptiveRound::Args{.x = tensor(one_.raw),
                                                                             .scale = q_.scale(),
                                                                             .zero_point = q_.zero_point(),
                                                                             .choice = tensor(one_.choice),
                                                                             .hard = true,
                                                                             .name = name("adaptive")}))
        .out();
  }

  void drop() {
    const Value step = add_tensor(model_, name("step"), Tensor(DType::i64, {1}), Role::state);
    Builder behind = builder_behind(model_.graph, q_.out());
    const auto readers = q_.out().uses();
    const auto dropped = ops::drop_quantized(behind, {.x = q_.x(),
                                                      .quantized = q_.out(),
                                                      .step = step,
                                                      .keep = one_.number,
                                                      .seed = number_,
                                                      .is_test = false,
                                                      .name = name("drop")});
    for (const auto& [reader, operand] : readers) reader.set_operand(operand, dropped.out());
  }

  Model& model_;
  const LearnedQuantizer& one_;
  FakeQuantize q_;
  int64_t number_;
  bool trains_;
  Builder builder_;
};

}  // namespace

void keep_quantizer(Model& model, const FakeQuantize& quantizer, QuantizerKind kind, double number) {
  const Value scale = scale_tensor(quantizer), x = quantizer.x();
  std::vector<LearnedQuantizer>& all = model.metadata.learned_quantizers;
  LearnedQuantizer one{.kind = kind, .scale = scale.name(), .zero_point = quantizer.zero_point().name()};
  one.number = number;
  const std::string base = one.scale.substr(0, one.scale.rfind('.'));
  const auto add = [&](const char* what, Tensor contents) {
    return add_tensor(model, base + what, std::move(contents), Role::parameter).name();
  };
  const auto like_scale = [&] { return Tensor(DType::f32, scale.dims()); };
  if (kind == QuantizerKind::lsq_plus) one.offset = add(".offset", like_scale());
  if (kind == QuantizerKind::tqt) one.log2_scale = add(".log2_scale", like_scale());
  if (kind == QuantizerKind::pact) {
    one.high = add(".ceiling", like_scale());
    if (observer_of(model.graph, one.scale).zero_points() == "affine") one.low = add(".floor", like_scale());
  }
  if (kind == QuantizerKind::dorefa || kind == QuantizerKind::adaround) {
    one.weight = x.name();
    const auto same = std::ranges::find(all, one.weight, &LearnedQuantizer::weight);
    if (same != all.end() && kind == QuantizerKind::adaround) fail(errors::shared_weight_rounded_twice(one.weight));
    one.raw = same != all.end() ? same->raw : add(".raw", model.tensors.at(x.name()).clone());
    x.node()->role = Role::state;
    if (kind == QuantizerKind::adaround) {
      one.choice = add(".choice", Tensor(DType::f32, x.dims()));
      model.graph.tensor(one.raw).node()->role = Role::state;
    }
  }
  if (kind == QuantizerKind::dorefa) settle_dorefa(model, one);
  all.push_back(std::move(one));
}

QuantizerKinds::QuantizerKinds(const Model& model) {
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers)
    by_scale_.emplace(one.scale, std::pair(one.kind, one.name));
}

QuantizerKind QuantizerKinds::of(const FakeQuantize& quantizer) const {
  const Value scale = scale_tensor(quantizer);
  if (const auto found = by_scale_.find(scale.name()); found != by_scale_.end()) return found->second.first;
  return scale.role() == Role::parameter ? QuantizerKind::lsq : QuantizerKind::fixed;
}

std::string QuantizerKinds::name_of(const FakeQuantize& quantizer) const {
  const auto found = by_scale_.find(scale_tensor(quantizer).name());
  const bool is_own = found != by_scale_.end() && found->second.first == QuantizerKind::own;
  return is_own ? found->second.second : traits_of(of(quantizer)).name;
}

void start_quantizers(Model& model, const std::string& scale) {
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) {
    if (!scale.empty() && one.scale != scale) continue;
    start(model, one);
    settle(model, one);
  }
}

void settle_quantizers(Model& model) {
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) settle(model, one);
}

namespace {

/// Removes the learned parameters of the quantizer.
void forget(Model& model, const LearnedQuantizer& one) {
  if (!one.weight.empty()) model.graph.tensor(one.weight).node()->role = Role::parameter;
  std::vector<std::string> names = {one.offset, one.low, one.high, one.log2_scale, one.raw, one.choice};
  for (const auto& [argument, tensor] : one.tensors) names.push_back(tensor);
  for (const std::string& name : names) {
    const Value learned = name.empty() ? Value() : model.graph.tensor(name);
    if (learned && learned.unused()) erase_tensor(model, learned);
  }
}

}  // namespace

void close_quantizers(Model& model) {
  std::vector<LearnedQuantizer>& all = model.metadata.learned_quantizers;
  for (const LearnedQuantizer& one : all) settle(model, one);
  const auto closes = [](const LearnedQuantizer& one) { return !is_uneven(one.kind); };
  for (const LearnedQuantizer& one : all) {
    if (closes(one)) forget(model, one);
  }
  std::erase_if(all, closes);
}

namespace {

/// Removes the quantizers that `goes` selects from the metadata, and restores their raw weights.
void drop_quantizers(Model& model, const std::function<bool(const LearnedQuantizer&)>& goes) {
  std::vector<LearnedQuantizer>& all = model.metadata.learned_quantizers;
  for (const LearnedQuantizer& one : all) {
    if (goes(one) && !one.weight.empty()) model.tensors.at(one.weight) = model.tensors.at(one.raw);
  }
  for (const LearnedQuantizer& one : all) {
    if (goes(one)) forget(model, one);
  }
  std::erase_if(all, goes);
}

}  // namespace

void restore_weights(Model& model) {
  drop_quantizers(model, [](const LearnedQuantizer& one) { return !one.weight.empty(); });
}

void drop_quantizer(Model& model, const std::string& scale) {
  drop_quantizers(model, [&](const LearnedQuantizer& one) { return one.scale == scale; });
}

bool has_uneven_levels(const Model& model) {
  return std::ranges::any_of(model.metadata.learned_quantizers, is_uneven, &LearnedQuantizer::kind);
}

namespace {

void open(Model& model, const LearnedQuantizer& one, int64_t& number, bool trains) {
  for (const FakeQuantize& quantizer : quantizers_of(model.graph, one.scale))
    QuantizerOpening(model, one, quantizer, number++, trains).run();
}

}  // namespace

void open_levels(Model& model) {
  int64_t number = 0;
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) {
    if (is_uneven(one.kind)) open(model, one, number, false);
  }
}

void open_quantizers(Model& model) {
  int64_t number = 0;
  for (const LearnedQuantizer& one : model.metadata.learned_quantizers) {
    const bool moves_scale =
        !one.high.empty() || !one.log2_scale.empty() || !one.choice.empty() || one.kind == QuantizerKind::own;
    if (moves_scale) observer_of(model.graph, one.scale).set_attributes({{"is_test", true}});
    open(model, one, number, true);
  }
}

}  // namespace halfstep::passes
