#include "halfstep/api/detail/remedies.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/quant/prepare/code_plan.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/with_dynamic_batch.h"
#include "halfstep/tune/repair/repair.h"
#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::api {
namespace {

using sensitivity::Remedy;

int number_in(const std::string& text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Model with_bits(Model model, const std::string& value) {
  const size_t equals = value.rfind('='), slash = value.find('/', equals);
  const int weights = number_in(value.substr(equals + 1)), activations = number_in(value.substr(slash + 1));
  const auto given = [](int bits) { return bits > 0 ? std::optional(bits) : std::nullopt; };
  quant::set_bits(model, value.substr(0, equals), given(weights), given(activations));
  return model;
}

/// Copies the bit widths of `from` to all quantizers that both networks have.
void copy_bits(const Model& from, Model& to, const quant::Platform& platform) {
  for (const auto& quantizer : to.graph.all<ops::FakeQuantize>()) {
    const Op other = from.graph.op(quantizer.name());
    if (!other.is<ops::FakeQuantize>()) continue;
    const int bits = quant::bits_of(ops::FakeQuantize(other.node()));
    if (bits != quant::bits_of(quantizer)) quant::set_quantizer_bits(to, platform, quantizer, bits);
  }
}

Model prepared_anew(const Model& prepared, const Remedy& remedy, const Trials& trials) {
  quant::Platform platform = quant::platform_of(prepared);
  quant::PrepareOptions options;
  train::CalibrateOptions calibration = trials.calibration;
  for (const auto& [name, reason] : prepared.metadata.float_operators) {
    if (quant::was_asked_for(reason)) options.skip_layers.push_back(name);
  }
  const std::string& value = remedy.values.front();
  const size_t equals = value.find('=');
  if (remedy.option == "--skip-layers")
    options.skip_layers.insert(options.skip_layers.end(), remedy.values.begin(), remedy.values.end());
  if (remedy.option == "--calibration-batches") calibration.batches = number_in(value);
  if (remedy.option == "--overrides")
    platform = quant::parse_platform(platform.text, "note 'platform' of the network",
                                     {{value.substr(0, equals), value.substr(equals + 1)}});
  Model anew = quant::prepare(sensitivity::FloatNetwork(prepared).in_float(), platform, options);
  copy_bits(prepared, anew, platform);
  train::calibrate(anew, trials.learned, calibration, trials.pool);
  return anew;
}

Model repaired(const Model& prepared, const std::string& methods, const Trials& trials) {
  constexpr int64_t kSteps = 200;  // a fifth of the usual steps: enough to decide whether a repair helps, not by how
                                   // much
  repair::Options options{.steps = kSteps};
  for (size_t begin = 0; begin < methods.size();) {
    const size_t end = std::min(methods.find(',', begin), methods.size());
    options.methods.push_back(methods.substr(begin, end - begin));
    begin = end + 1;
  }
  return repair::repair(prepared, trials.learned, trials.calibration, options, trials.pool).model;
}

/// Finds remedies for crushed parts. Measures each form of the network once for all of them.
class Corrector {
 public:
  Corrector(const Model& prepared, const sensitivity::FloatAnswers& answers, const Trials& trials)
      : prepared_(prepared), answers_(answers), trials_(trials) {}

  /// Returns "; --skip-layers 'y' improves it to 36.7 dB".
  std::string remedy_in_words(const sensitivity::CrushedPart& part) {
    if (answers_.is_large && !trials_.for_large) return "; 'halfstep analyze' tries remedies";
    constexpr size_t kMostTried = 5;
    constexpr double kHelps = 6, kMostDecibels = 200;  // one bit; shown for zero noise, as in reports
    std::vector<Remedy> remedies = sensitivity::remedies_for(prepared_, part);
    remedies.resize(std::min(kMostTried, remedies.size()));
    if (before_.empty()) before_ = answers_.parts_of(prepared_, trials_.pool);
    std::string best;
    double most = decibels_in(before_, part.output).value() + kHelps;
    for (const Remedy& remedy : remedies) {
      const auto after = decibels_in(parts_with(remedy), part.output);
      if (!after || *after < most) continue;
      best =
          fmt::format("; {} improves it to {:.1f} dB", sensitivity::text_of(remedy), std::min(*after, kMostDecibels));
      most = *after;
      if (most >= verify::kPoorPart) break;
    }
    return best.empty() ? "; no remedy that was tried helps" : best;
  }

 private:
  using Parts = std::vector<verify::OutputPart>;

  static std::optional<double> decibels_in(const Parts& parts, const verify::OutputPart& wanted) {
    for (const verify::OutputPart& part : parts) {
      if (part.output == wanted.output && part.axis == wanted.axis && part.index == wanted.index)
        return part.sums.sqnr_db();
    }
    return std::nullopt;
  }

  /// Empty if the remedy is impossible.
  const Parts& parts_with(const Remedy& remedy) {
    const std::string name = sensitivity::text_of(remedy);
    const auto known = tried_.find(name);
    if (known != tried_.end()) return known->second;
    const auto form = with_remedy(prepared_, remedy, trials_);
    return tried_.emplace(name, form ? answers_.parts_of(*form, trials_.pool) : Parts()).first->second;
  }

  const Model& prepared_;
  const sensitivity::FloatAnswers& answers_;
  const Trials& trials_;
  Parts before_;
  std::map<std::string, Parts> tried_;  ///< measured parts by remedy
};

/// Whether the gain is a sufficient share of the cost of quantization.
bool helps(double in_float, double before, double after) {
  constexpr double kShare = 0.05;
  return after < before && before - after >= kShare * std::fabs(before - in_float);
}

/// Returns "loss 0.412 to 0.031, agreement 90.1 to 97.0 %".
std::string gain_in_words(const sensitivity::Analysis& analysis, const train::ValidationResult& after) {
  const train::ValidationResult& before = analysis.on_codes;
  std::string text = fmt::format("loss {:.3g} to {:.3g}", before.loss, after.loss);
  if (before.right && after.right)
    text += fmt::format(", {} {:.1f} to {:.1f} %", analysis.has_labels ? "accuracy" : "agreement", 100 * *before.right,
                        100 * *after.right);
  return text;
}

/// Tries the advised remedies, each once, in the order of the quantizers.
class Advisor {
 public:
  Advisor(sensitivity::Analysis& analysis, const Model& prepared, const sensitivity::Trial& trial, const Trials& trials,
          int64_t most, const ProgressCallback& progress)
      : analysis_(analysis), prepared_(prepared), trial_(trial), trials_(trials), progress_(progress) {
    for (const sensitivity::QuantizerAnalysis& one : analysis.quantizers) {
      for (const sensitivity::Suggestion& suggestion : one.advice) {
        for (const Remedy& remedy : suggestion.remedies) {
          const bool is_new = std::ranges::find(remedies_, remedy) == remedies_.end();
          if (is_new && std::ssize(remedies_) < most) remedies_.push_back(remedy);
        }
      }
    }
  }

  void run() {
    if (!remedies_.empty()) distance_ = trial_.outcome_of(prepared_).near.loss;
    for (const Remedy& remedy : remedies_) {
      const auto tried = with_remedy(prepared_, remedy, trials_);
      gains_.push_back(tried ? gain_of(*tried) : "");
      if (progress_)
        progress_({"remedies", static_cast<double>(gains_.size()), static_cast<double>(remedies_.size()),
                   sensitivity::text_of(remedy)});
    }
    for (sensitivity::QuantizerAnalysis& one : analysis_.quantizers) {
      one.suggestions.clear();
      for (const sensitivity::Suggestion& suggestion : one.advice) one.suggestions.push_back(sentence(suggestion));
    }
  }

 private:
  /// Returns "" if there is no gain.
  std::string gain_of(const Model& tried) const {
    const sensitivity::Trial::Outcome after = trial_.outcome_of(tried);
    const train::ValidationResult& before = analysis_.on_codes;
    if (helps(analysis_.in_float.loss, before.loss, after.judged.loss)) return gain_in_words(analysis_, after.judged);
    if (after.judged.right < before.right || !helps(0, distance_, after.near.loss)) return "";
    return fmt::format("distance to the float network {:.3g} to {:.3g}", distance_, after.near.loss);
  }

  /// Returns the reason and the remedies that helped.
  std::string sentence(const sensitivity::Suggestion& suggestion) const {
    std::vector<std::string> helping;
    for (const Remedy& remedy : suggestion.remedies) {
      const auto tried = static_cast<size_t>(std::ranges::find(remedies_, remedy) - remedies_.begin());
      if (tried < gains_.size() && !gains_[tried].empty())
        helping.push_back(fmt::format("{} ({})", sensitivity::text_of(remedy), gains_[tried]));
    }
    return helping.empty() ? suggestion.reason : fmt::format("{}: {}", suggestion.reason, fmt::join(helping, ", or "));
  }

  sensitivity::Analysis& analysis_;
  const Model& prepared_;
  const sensitivity::Trial& trial_;
  const Trials& trials_;
  const ProgressCallback& progress_;
  std::vector<Remedy> remedies_;
  double distance_ = 0;             ///< distance of the prepared network to its float form
  std::vector<std::string> gains_;  ///< gains by remedy; "": no gain
};

}  // namespace

std::optional<Model> with_remedy(const Model& prepared, const Remedy& remedy, const Trials& trials) {
  try {
    if (remedy.option == "--bits") return with_bits(prepared, remedy.values.front());
    if (remedy.option == "--repair") return repaired(prepared, remedy.values.front(), trials);
    return prepared_anew(prepared, remedy, trials);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<CrushedWarning> warnings_on(const Model& prepared, const data::Samples& watched, const Trials& trials) {
  constexpr size_t kMostCorrected = 4;
  std::vector<CrushedWarning> warnings;
  const sensitivity::Crushed crushed =
      sensitivity::crushed_values(prepared, watched, trials.calibration.seed, trials.pool);
  for (const std::string& quantizer : crushed.infinite) {
    const std::string value = prepared.graph.op(quantizer).in(0).name();
    warnings.push_back({quantizer, fmt::format("'{0}': some values are infinite and are clipped to the ends of its "
                                               "range; keep it in float (--skip-layers {0})",
                                               value)});
  }
  Corrector corrector(prepared, crushed.answers, trials);
  for (const sensitivity::CrushedPart& part : crushed.parts) {
    const std::string remedy = warnings.size() < kMostCorrected ? corrector.remedy_in_words(part) : std::string();
    warnings.push_back({part.name, sensitivity::sentence_of(part) + remedy});
  }
  return warnings;
}

std::vector<std::string> warnings_on_tensors(const quant::Audit& audit) {
  std::vector<std::string> notes;
  for (const quant::AuditedQuantizer& codes : audit.quantizers) {
    std::string why;
    if (codes.is_too_small())
      why = "use few codes, because no scale is below 2^-23; scale them up";
    else if (codes.loses_all())
      why = fmt::format(
          "all become 0, because observer {} returned scale {}; quantize with --overrides {}.observer=minmax",
          codes.observer, codes.scale.front(), codes.is_weight ? "weights" : "activations");
    if (why.empty()) continue;
    notes.push_back(fmt::format(
        "'{}': its values range from {} to {} and {}, or keep the layers that read them in float (--skip-layers NAME)",
        codes.tensor, *std::ranges::min_element(codes.low), *std::ranges::max_element(codes.high), why));
  }
  return notes;
}

void add_warnings(std::vector<std::string>& notes, const Model& prepared, const data::Samples& watched,
                  const Trials& trials) {
  std::ranges::move(warnings_on_tensors(quant::audit(prepared)), std::back_inserter(notes));
  const Model opened = train::with_dynamic_batch(prepared, watched, trials.pool);
  for (CrushedWarning& warning : warnings_on(opened, watched, trials)) notes.push_back(std::move(warning.sentence));
}

void try_advice(sensitivity::Analysis& analysis, const Model& prepared, const sensitivity::Trial& trial,
                const Trials& trials, int64_t most, const ProgressCallback& progress) {
  Advisor(analysis, prepared, trial, trials, most, progress).run();
}

}  // namespace halfstep::api
