#include "halfstep/tune/repair/weight_ranges.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "halfstep/passes/quantized/bypass_quantizers.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/quant/platform/observers.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/tune/repair/layers.h"

namespace halfstep::repair {
namespace {

/// Shares of the extremes to try: first for all weights, then as offsets from the best share of each scale.
constexpr float kCoarse[] = {1.00F, 0.92F, 0.84F, 0.76F, 0.68F, 0.60F, 0.52F, 0.44F, 0.36F, 0.28F};
constexpr float kFine[] = {-0.04F, -0.02F, 0.02F, 0.04F};
constexpr int64_t kSamples = 64;  ///< number of samples for the error of each layer

/// Whether the ranges can be searched: one scale for each output channel, or one for all, which the observer derives
/// from a range.
bool has_ranges(const Layer& layer) {
  if (!layer.quantizer) return false;
  const ops::ObserveRange observer = quant::observer_of(layer.quantizer);
  const int64_t scales = observer.scale().dims()[0];
  const bool is_by_channel = layer.quantizer.axis() == 0 && layer.op.info().quant.weight_axis == 0;
  return !quant::is_fixed(observer) && (scales == 1 || is_by_channel) && observer.x().size() == 1 &&
         (observer.power_of_two() ||
          !quant::gives_powers_of_two(quant::observer_name(observer.method(), observer.merge())));
}

std::vector<Layer> layers_with_ranges(const Model& prepared) {
  std::vector<Layer> layers = layers_of(prepared);
  std::erase_if(layers, [](const Layer& layer) { return !has_ranges(layer); });
  return layers;
}

/// The float network with an error output for each layer: the layer's operator without bias, applied to the rounding
/// error of its weight.
struct WithErrors {
  Model model;
  std::vector<Watched> errors;

  explicit WithErrors(const Model& prepared) : model(simulated(prepared)) {
    passes::bypass_quantizers(model.graph, [](Op op) { return !op.in(0).is_tensor(); });
    for (const Layer& layer : layers_with_ranges(model)) add(layer);
  }

 private:
  void add(const Layer& layer) {
    const QuantInfo& quant = layer.op.info().quant;
    Builder builder(model.graph);
    OpSpec spec{&layer.op.info(), layer.op.operands(), layer.op.attributes(), layer.op.name() + ".error",
                layer.op.location()};
    spec.operands[static_cast<size_t>(quant.weight)] =
        ops::sub(builder, {.a = layer.quantizer.out(), .b = layer.weight}).out();
    if (quant.bias >= 0) spec.operands[static_cast<size_t>(quant.bias)] = {};
    errors.push_back({model.graph.insert(std::move(spec)).out(0).name()});
    layer.op.set_operand(quant.weight, layer.weight);
  }
};

/// The ranges of one layer's weight: its extremes, and the best shares of them so far.
class Ranges {
 public:
  Ranges(const Model& prepared, const Layer& layer) : observer_(quant::observer_of(layer.quantizer)) {
    const auto weight = prepared.tensors.at(layer.weight.name()).data<float>();
    const auto scales = static_cast<size_t>(observer_.scale().dims()[0]);
    const size_t run = weight.size() / scales;
    for (size_t i = 0; i < scales; ++i) {
      const auto [low, high] = std::ranges::minmax(weight.subspan(i * run, run));
      lows_.push_back(low);
      highs_.push_back(high);
    }
    tried_ = best_ = around_ = std::vector(scales, 1.0F);
    least_.resize(scales, std::numeric_limits<double>::infinity());
  }

  void try_all(float share) { std::ranges::fill(tried_, share); }
  void try_around(float offset) {
    for (size_t i = 0; i < tried_.size(); ++i) tried_[i] = std::min(1.0F, around_[i] + offset);
  }
  void go_around() { around_ = best_; }
  void take_best() { tried_ = best_; }

  void put_into(Model& prepared) const {
    std::vector<float> low = lows_, high = highs_;
    for (size_t i = 0; i < tried_.size(); ++i) low[i] *= tried_[i], high[i] *= tried_[i];
    quant::set_ranges(prepared, observer_, low, high);
  }

  /// Updates the best shares. The first of equal errors wins.
  void compare(const Moments& errors) {
    std::vector<double> squares = errors.variance;
    for (size_t c = 0; c < squares.size(); ++c) squares[c] += errors.mean[c] * errors.mean[c];
    if (tried_.size() == 1) squares = {std::accumulate(squares.begin(), squares.end(), 0.0)};
    for (size_t i = 0; i < squares.size(); ++i) {
      if (squares[i] < least_[i]) least_[i] = squares[i], best_[i] = tried_[i];
    }
  }

 private:
  ops::ObserveRange observer_;
  std::vector<float> lows_, highs_;
  std::vector<float> tried_, best_, around_;  ///< shares of the extremes
  std::vector<double> least_;                 ///< squared errors
};

}  // namespace

std::optional<Model> ranges_by_outputs(const Model& prepared, const data::Samples& samples, ThreadPool& pool) {
  if (!why_weights_stay(prepared).empty() || passes::has_uneven_levels(prepared)) return std::nullopt;
  Model changed = prepared;
  std::vector<Ranges> all;
  for (const Layer& layer : layers_with_ranges(changed)) all.emplace_back(changed, layer);
  if (all.empty()) return std::nullopt;
  data::Samples few = samples;
  few.indices.resize(static_cast<size_t>(std::min(few.size(), std::max(kSamples, data::batch_of(prepared, 1)))));
  const auto look = [&] {
    for (const Ranges& ranges : all) ranges.put_into(changed);
    const WithErrors tried(changed);
    const auto errors = moments_of(tried.model, tried.errors, few, pool);
    for (size_t i = 0; i < all.size(); ++i) all[i].compare(errors.at(tried.errors[i].value));
  };
  for (const float share : kCoarse) {
    for (Ranges& ranges : all) ranges.try_all(share);
    look();
  }
  for (Ranges& ranges : all) ranges.go_around();
  for (const float offset : kFine) {
    for (Ranges& ranges : all) ranges.try_around(offset);
    look();
  }
  for (Ranges& ranges : all) {
    ranges.take_best();
    ranges.put_into(changed);
  }
  passes::start_quantizers(changed);
  return changed;
}

}  // namespace halfstep::repair
