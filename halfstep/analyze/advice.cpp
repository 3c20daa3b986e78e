#include "halfstep/analyze/advice.h"

#include <algorithm>
#include <numeric>

#include "halfstep/base/status.h"
#include "halfstep/quant/prepare.h"

namespace halfstep::analyze {
namespace {

constexpr double kManyClipped = 0.01;
constexpr double kNarrow = 0.5;     ///< share of a range that values fill
constexpr double kNearer = 1;       ///< dB that make another observer worth a try
constexpr double kPoint = 0.01;     ///< of accuracy or agreement
constexpr double kGreatPart = 0.1;  ///< of all harm

/// What rules look at.
struct Case {
  const QuantizerAnalysis& one;
  const Model& prepared;
  const quant::Platform& platform;
  double all_harm;
  const Analysis& whole;

  const quant::AuditedQuantizer& quantizer() const { return one.quantizer; }
  const char* side() const { return quantizer().is_weight ? "weights" : "features"; }
  /// "features.observer", or what decides in place of it.
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
  /// More so than most.
  bool is_harmful() const {
    return one.harm > 0 && one.harm * static_cast<double>(whole.quantizers.size()) >= all_harm;
  }
  /// Points that it costs, alone or in the end.
  double points() const { return std::max(-one.alone.right.value_or(0), one.without.right.value_or(0)); }
  /// The next width that this layer may have, or 0.
  int wider() const {
    const std::vector<int64_t>& legal = quantizer().is_weight ? platform.weights.legal : platform.features.legal;
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

/// A word for a shell: a name may have anything in it.
std::string in_quotes(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// "channel 7 reaches 50x the median channel's magnitude", or with how many there are of them.
std::string outliers_in_words(const Watched& seen) {
  const Outlier& first = seen.outliers.front();
  std::string more;
  if (seen.outliers.size() > 1) more = fmt::format(" ({} channels are beyond {:.0f}x)", seen.outliers.size(), kOutlier);
  return fmt::format("channel {} reaches {:.0f}x as far as the median channel{}", first.channel, first.ratio, more);
}

std::string spread_of_weights(const Case& about) {
  if (!about.quantizer().is_weight || about.one.seen.outliers.empty()) return "";
  const std::string words = outliers_in_words(about.one.seen);
  if (about.quantizer().axis >= 0)
    return words + ": each channel has a scale of its own, but what the layer gives has one: --repair equalize";
  return words + " under one scale: --repair equalize, or a scale for each channel (--set weights.granularity=channel)";
}

std::string spread_of_features(const Case& about) {
  if (about.quantizer().is_weight || about.one.seen.outliers.empty()) return "";
  return fmt::format("{} under one scale, so that most channels have few codes: --repair equalize, or smooth",
                     outliers_in_words(about.one.seen));
}

std::string clipped(const Case& about) {
  const double share = static_cast<double>(about.one.seen.clipped) / static_cast<double>(about.one.seen.elements);
  if (about.one.seen.elements == 0 || share < kManyClipped) return "";
  return fmt::format("{:.0f} % clipped: {}", 100 * share,
                     about.quantizer().is_weight ? "--repair ranges"
                                                 : "calibrate with more images "
                                                   "(--calibration-batches), or --repair ranges");
}

/// Codes between the values of pixels are unused too, and nothing is wrong with them.
std::string wide(const Case& about) {
  const Watched& seen = about.one.seen;
  const double reach = static_cast<double>(seen.high) - static_cast<double>(seen.low),
               range = static_cast<double>(seen.code_high) - static_cast<double>(seen.code_low);
  if (seen.elements == 0 || !(reach < kNarrow * range)) return "";
  return fmt::format("values reach from {:.4g} to {:.4g} and codes from {:.4g} to {:.4g}: --repair ranges", seen.low,
                     seen.high, seen.code_low, seen.code_high);
}

std::string observer(const Case& about) {
  if (about.nearer() < kNearer || !about.is_harmful()) return "";
  return fmt::format("another observer is {:.1f} dB nearer here: --set {}={} (for all layers)", about.nearer(),
                     about.observer_key(), about.best_range()->observer);
}

std::string width(const Case& about) {
  constexpr double kFewAnswers = 3;  // that a sample or two change says nothing
  const double least = std::max(kPoint, kFewAnswers / static_cast<double>(about.whole.samples));
  if (about.points() < least || about.quantizer().layer.empty()) return "";
  const std::string cost =
      fmt::format("costs {:.1f} points by itself at {} bits", 100 * about.points(), about.quantizer().bits);
  if (const int wider = about.wider(); wider > 0)
    return fmt::format("{}: --bits {}={}", cost, in_quotes(about.quantizer().layer),
                       about.quantizer().is_weight ? fmt::format("{}/", wider) : fmt::format("/{}", wider));
  return fmt::format("{}, the most that it can have: --float {}", cost, in_quotes(about.quantizer().layer));
}

std::string rounding(const Case& about) {
  constexpr int kFewBits = 4;
  const bool counts = about.one.harm > 0 && about.one.harm >= kGreatPart * about.all_harm;
  if (!about.quantizer().is_weight || about.quantizer().bits > kFewBits || !counts) return "";
  return fmt::format("{} bits and {:.0f} % of all harm: --repair ranges,adaround", about.quantizer().bits,
                     100 * about.one.harm / about.all_harm);
}

/// A sentence where the rule holds, else nothing.
using Rule = std::string (*)(const Case&);
constexpr Rule kRules[] = {spread_of_weights, spread_of_features, clipped, wide, observer, width, rounding};

}  // namespace

void add_advice(Analysis& analysis, const Model& prepared) {
  const quant::Platform platform = quant::platform_of(prepared);
  double all_harm = 0;
  for (const QuantizerAnalysis& one : analysis.quantizers) all_harm += one.harm;
  for (QuantizerAnalysis& one : analysis.quantizers) {
    for (const Rule rule : kRules) {
      std::string sentence = rule({one, prepared, platform, all_harm, analysis});
      if (!sentence.empty()) one.suggestions.push_back(std::move(sentence));
    }
  }
}

}  // namespace halfstep::analyze
