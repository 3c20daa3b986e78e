#include "halfstep/tune/sensitivity/advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "halfstep/core/base/status.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::sensitivity {
namespace {

constexpr double kManyClipped = 0.01;
constexpr double kNarrow = 0.5;     ///< least used share of a range
constexpr double kNearer = 1;       ///< least gain in dB that makes another observer a suggestion
constexpr double kPoint = 0.01;     ///< a point of accuracy or agreement
constexpr double kGreatPart = 0.1;  ///< large share of the total sensitivity

/// A quantizer with its context, the input of all rules.
struct Case {
  const QuantizerAnalysis& one;
  const Model& prepared;
  const quant::Platform& platform;
  double all_sensitivity;
  const Analysis& whole;

  const quant::AuditedQuantizer& quantizer() const { return one.quantizer; }
  const char* side() const { return quantizer().is_weight ? "weights" : "activations"; }
  /// "activations.observer", or the key that takes precedence over it.
  std::string observer_key() const {
    const bool is_other = quantizer().bits < platform.low_bits_below && !platform.low_bits_observer.empty();
    return is_other ? "low_bits.observer" : fmt::format("{}.observer", side());
  }
  const ObservedRange* best_range() const {
    const auto best = std::ranges::max_element(one.ranges, {}, &ObservedRange::sqnr_db);
    return best == one.ranges.end() ? nullptr : &*best;
  }
  double nearer() const {
    const ObservedRange* best = best_range();
    return best == nullptr ? 0 : best->sqnr_db - one.seen.alone.sqnr_db();
  }
  /// Whether its sensitivity is at least the average.
  bool is_harmful() const {
    return one.sensitivity > 0 && one.sensitivity * static_cast<double>(whole.quantizers.size()) >= all_sensitivity;
  }
  /// Accuracy that it costs, alone or as one of all quantizers.
  double points() const { return std::max(-one.alone.right.value_or(0), one.without.right.value_or(0)); }
  /// The next larger bit width that is legal for this layer, or 0.
  int wider() const {
    const std::vector<int64_t>& legal = quantizer().is_weight ? platform.weights.legal : platform.activations.legal;
    std::vector<int64_t> sorted = legal;
    std::ranges::sort(sorted);
    for (const int64_t bits : sorted) {
      if (bits > quantizer().bits && can_have(static_cast<int>(bits))) return static_cast<int>(bits);
    }
    return 0;
  }

 private:
  bool can_have(int bits) const {
    if (quantizer().layer.empty()) return false;
    Model tried = prepared;
    try {
      quantizer().is_weight ? quant::set_bits(tried, quantizer().layer, bits, std::nullopt)
                            : quant::set_bits(tried, quantizer().layer, std::nullopt, bits);
    } catch (const Error&) {
      return false;
    }
    return true;
  }
};

/// "channel 7 is 50x as large as the median channel", with the number of further outliers if any.
std::string outliers_in_words(const Watched& seen) {
  const Outlier& first = seen.outliers.front();
  std::string more;
  if (seen.outliers.size() > 1) more = fmt::format(" ({} channels exceed {:.0f}x)", seen.outliers.size(), kOutlier);
  return fmt::format("channel {} is {:.0f}x as large as the median channel{}", first.channel, first.ratio, more);
}

/// A suggestion if the rule applies.
using Advice = std::optional<Suggestion>;

Advice spread_of_weights(const Case& about) {
  if (!about.quantizer().is_weight || about.one.seen.outliers.empty()) return {};
  const std::string words = outliers_in_words(about.one.seen);
  if (about.quantizer().axis >= 0)
    return {{words + ": each channel has its own scale, but the layer's result has one scale",
             {{"--repair", {"equalize"}}}}};
  return {{words + " under one scale", {{"--repair", {"equalize"}}, {"--overrides", {"weights.granularity=channel"}}}}};
}

Advice spread_of_activations(const Case& about) {
  if (about.quantizer().is_weight || about.one.seen.outliers.empty()) return {};
  return {{outliers_in_words(about.one.seen) + " under one scale, so most channels use few codes",
           {{"--repair", {"equalize"}}, {"--repair", {"smooth"}}}}};
}

Advice clipped(const Case& about) {
  constexpr const char* kMoreBatches = "64";
  const double share = static_cast<double>(about.one.seen.clipped) / static_cast<double>(about.one.seen.elements);
  if (about.one.seen.elements == 0 || share < kManyClipped) return {};
  Suggestion clipped{fmt::format("{:.0f} % clipped", 100 * share), {{"--repair", {"ranges"}}}};
  if (!about.quantizer().is_weight) clipped.remedies.push_back({"--calibration-batches", {kMoreBatches}});
  return clipped;
}

/// A range without rounding error is not reported: its codes between pixel values are unused, but correct.
Advice wide(const Case& about) {
  const Watched& seen = about.one.seen;
  const double reach = static_cast<double>(seen.high) - static_cast<double>(seen.low),
               range = static_cast<double>(seen.code_high) - static_cast<double>(seen.code_low);
  if (seen.alone.noise == 0 || !(reach < kNarrow * range)) return {};
  return {{fmt::format("values range from {:.4g} to {:.4g}, codes from {:.4g} to {:.4g}", seen.low, seen.high,
                       seen.code_low, seen.code_high),
           {{"--repair", {"ranges"}}}}};
}

Advice observer(const Case& about) {
  if (about.nearer() < kNearer || !about.is_harmful()) return {};
  return {{fmt::format("another observer (for all layers) improves SQNR by {:.1f} dB here", about.nearer()),
           {{"--overrides", {fmt::format("{}={}", about.observer_key(), about.best_range()->observer)}}}}};
}

Advice width(const Case& about) {
  constexpr double kFewAnswers = 3;  // a difference of one or two samples is not significant
  const double least = std::max(kPoint, kFewAnswers / static_cast<double>(about.whole.samples));
  const std::string& layer = about.quantizer().layer;
  if (about.points() < least || layer.empty()) return {};
  const std::string cost =
      fmt::format("costs {:.1f} points alone at {} bits", 100 * about.points(), about.quantizer().bits);
  if (const int wider = about.wider(); wider > 0)
    return {{cost,
             {{"--bits",
               {layer + (about.quantizer().is_weight ? fmt::format("={}/", wider) : fmt::format("=/{}", wider))}}}}};
  return {{cost + ", the widest legal bit width", {{"--skip-layers", {layer}}}}};
}

Advice rounding(const Case& about) {
  constexpr int kFewBits = 4;
  const bool counts = about.one.sensitivity > 0 && about.one.sensitivity >= kGreatPart * about.all_sensitivity;
  if (!about.quantizer().is_weight || about.quantizer().bits > kFewBits || !counts) return {};
  return {{fmt::format("{} bits and {:.0f} % of the total sensitivity", about.quantizer().bits,
                       100 * about.one.sensitivity / about.all_sensitivity),
           {{"--repair", {"ranges,adaround"}}}}};
}

using Rule = Advice (*)(const Case&);
constexpr Rule kRules[] = {spread_of_weights, spread_of_activations, clipped, wide, observer, width, rounding};

/// "a reason: --one, or --other".
std::string in_words(const Suggestion& suggestion) {
  std::string text = suggestion.reason;
  const char* separator = ": ";
  for (const Remedy& remedy : suggestion.remedies) text += std::exchange(separator, ", or ") + text_of(remedy);
  return text;
}

}  // namespace

void add_advice(Analysis& analysis, const Model& prepared) {
  const quant::Platform& platform = quant::platform_of(prepared);
  double all_sensitivity = 0;
  for (const QuantizerAnalysis& one : analysis.quantizers) all_sensitivity += one.sensitivity;
  for (QuantizerAnalysis& one : analysis.quantizers) {
    for (const Rule rule : kRules) {
      const Advice advice = rule({one, prepared, platform, all_sensitivity, analysis});
      if (!advice) continue;
      one.advice.push_back(*advice);
      one.suggestions.push_back(in_words(*advice));
    }
  }
}

}  // namespace halfstep::sensitivity
