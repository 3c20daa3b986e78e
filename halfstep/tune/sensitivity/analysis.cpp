#include "halfstep/tune/sensitivity/analysis.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/tune/sensitivity/advice.h"
#include "halfstep/tune/sensitivity/effects.h"
#include "halfstep/tune/sensitivity/errors.h"
#include "halfstep/tune/sensitivity/inside.h"
#include "halfstep/tune/sensitivity/observed.h"

namespace halfstep::sensitivity {
namespace {

constexpr int64_t kWatchBatch = 32;
constexpr int64_t kTriedSamples = 256;  ///< samples for ranges of other observers

bool everything(const std::string&) { return true; }

/// Whether a run of the network can return the quantizer's input. Values in regions cannot be returned.
bool is_fetched(const Place& place) { return place.is_computed() && !is_in_region(place.quantizer); }

/// Names of the activations outside of branches and loops, before or after quantization, without duplicates.
std::vector<std::string> computed(const std::vector<Place>& places, bool rounded) {
  std::vector<std::string> names;
  for (const Place& place : places) {
    if (!is_fetched(place) || (!rounded && !place.quantizer.x().producer())) continue;
    const std::string& name = rounded ? place.quantizer.out().name() : place.value();
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

class Analyzer {
 public:
  Analyzer(const Model& prepared, const data::Samples& samples, const AnalyzeOptions& options, ThreadPool& pool,
           const ProgressCallback& progress)
      : prepared_(prepared),
        options_(options),
        pool_(pool),
        progress_(progress),
        network_(prepared),
        trial_(network_.in_float(), samples, options.samples, options.seed, pool) {}

  Analysis run() {
    Analysis analysis;
    analysis.samples = trial_.size();
    analysis.has_labels = trial_.has_labels();
    const std::vector<quant::AuditedQuantizer> audited = quant::audit(prepared_).quantizers;
    const auto observed = observers();
    std::vector<Watch> watches = watch(observed, analysis);
    try_variants(analysis);
    for (size_t p = 0; p < network_.places().size(); ++p) {
      QuantizerAnalysis& one = analysis.quantizers[p];
      one.quantizer = audited[p];
      one.seen = watches[p].result();
      for (size_t o = 0; o < observed.size(); ++o) {
        const Rounder rounder = observed[o].rounders[p];
        one.ranges.push_back({observed[o].observer, rounder.low(), rounder.high(), watches[p].others()[o].sqnr_db()});
      }
    }
    add_curvatures(analysis);
    say_what_is_missing(analysis);
    add_advice(analysis, prepared_);
    mark_badly_scaled(analysis.quantizers);
    std::ranges::stable_sort(analysis.quantizers, std::greater(), [](const QuantizerAnalysis& one) {
      return std::pair(one.is_badly_scaled ? *one.seen.wasted : 0, one.sensitivity);
    });
    return analysis;
  }

 private:
  void say(const char* stage, size_t done, size_t total) const {
    if (progress_) progress_({stage, static_cast<double>(done), static_cast<double>(total), ""});
  }

  std::vector<Observed> observers() const {
    if (!options_.observers) return {};
    return observed_ranges(prepared_, network_, trial_.samples(), options_.seed, pool_, progress_);
  }

  /// Runs the float network and the network with all quantizers side by side. Throws if a layer computes NaN or
  /// infinity.
  std::vector<Watch> watch(const std::vector<Observed>& observed, Analysis& analysis) {
    const auto& places = network_.places();
    std::vector<Watch> watches;
    for (size_t p = 0; p < places.size(); ++p) {
      std::vector<Rounder> others;
      for (const Observed& one : observed) others.push_back(one.rounders[p]);
      const Dims& dims = places[p].quantizer.x().dims();
      watches.emplace_back(network_.rounder(places[p]), channels_of(places[p], dims), std::move(others));
    }
    pool_.parallel_for(std::ssize(places), [&](int64_t p) {
      const Place& place = places[static_cast<size_t>(p)];
      if (place.is_computed()) return;
      watches[static_cast<size_t>(p)].add(network_.prepared().tensors.at(place.value()));
      watches[static_cast<size_t>(p)].try_others(network_.prepared().tensors.at(place.value()));
    });
    watch_activations(watches);
    watch_inside(watches, analysis);
    require_finite(watches);
    return watches;
  }

  static int64_t channels_of(const Place& place, const Dims& dims) {
    if (!place.is_weight) return channel_axis(dims);
    return place.quantizer.out().uses().front().first.info().quant.weight_axis;
  }

  /// Watches quantizers inside of regions, in the float network only, because the quantized network may take other
  /// branches.
  void watch_inside(std::vector<Watch>& watches, Analysis& analysis) const {
    const int64_t left_out = see_inside(network_, trial_, [&](size_t place, const Tensor& values) {
      watches[place].add(values);
      watches[place].try_others(values);
    });
    if (left_out > 0)
      analysis.notes.push_back(
          fmt::format("branches and loops: values of {} executions were not observed; use fewer samples", left_out));
  }

  void watch_activations(std::vector<Watch>& watches) {
    const auto& places = network_.places();
    const int64_t batch = data::judged_batch(prepared_, std::min(kWatchBatch, trial_.size()));
    train::BatchRunner in_float(train::evaluation_form(network_.in_float()), computed(places, false), pool_);
    train::BatchRunner rounded(train::evaluation_form(network_.with(everything)), computed(places, true), pool_);
    for (int64_t begin = 0; begin < trial_.size(); begin += batch) {
      const Tensors inputs = trial_.inputs(begin, std::min(batch, trial_.size() - begin));
      const Tensors wanted = in_float.run(inputs), found = rounded.run(inputs);
      pool_.parallel_for(std::ssize(places), [&](int64_t p) {
        const Place& place = places[static_cast<size_t>(p)];
        if (!is_fetched(place)) return;
        const auto input = inputs.find(place.value());
        const Tensor& x = input == inputs.end() ? wanted.at(place.value()) : input->second;
        Watch& watch = watches[static_cast<size_t>(p)];
        watch.add(x);
        watch.add_reached(x, found.at(place.quantizer.out().name()));
        if (begin < kTriedSamples) watch.try_others(x);
      });
      say("values", static_cast<size_t>(std::min(begin + batch, trial_.size())), static_cast<size_t>(trial_.size()));
    }
  }

  void require_finite(const std::vector<Watch>& watches) const {
    std::vector<std::string> layers;
    for (size_t p = 0; p < watches.size(); ++p) {
      if (watches[p].not_finite() > 0)
        layers.push_back(fmt::format("'{}' ({} of {} elements)", network_.places()[p].value(), watches[p].not_finite(),
                                     watches[p].result().elements));
    }
    if (!layers.empty())
      fail(errors::float_network_not_finite(prepared_.graph.name(), fmt::format("{}", fmt::join(layers, ", "))));
  }

  void try_variants(Analysis& analysis) const {
    const auto& places = network_.places();
    analysis.in_float = trial_.of(network_.in_float());
    analysis.rounded = trial_.of(network_.with(everything));
    analysis.on_codes = trial_.of(prepared_);
    const auto effects =
        effects_of(network_, trial_, [&](size_t done, size_t steps) { say("quantizers", done, steps); });
    for (size_t p = 0; p < places.size(); ++p) {
      QuantizerAnalysis one;
      one.name = places[p].name();
      one.alone = effects[p].alone - analysis.in_float;
      one.up_to = effects[p].up_to - analysis.in_float;
      one.without = effects[p].without - analysis.rounded;
      one.sensitivity = sensitivity_of(one.alone, one.without);
      analysis.quantizers.push_back(std::move(one));
    }
  }

  void add_curvatures(Analysis& analysis) const {
    if (options_.directions == 0) return;
    try {
      const auto found = curvatures(network_, trial_, {options_.directions, options_.seed}, progress_);
      for (QuantizerAnalysis& one : analysis.quantizers) {
        if (const auto curvature = found.find(one.name); curvature != found.end()) one.curvature = curvature->second;
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      analysis.notes.push_back(fmt::format("no Hessian and no gradients: {}", error.what()));
    }
  }

  void say_what_is_missing(Analysis& analysis) const {
    const auto inside = std::ranges::count_if(
        network_.places(), [](const Place& place) { return place.is_computed() && is_in_region(place.quantizer); });
    if (inside > 0)
      analysis.notes.push_back(
          fmt::format("{} quantizers of activations are inside branches and loops: their errors with all quantizers "
                      "were not measured, and they have no Hessian and no gradients",
                      inside));
    if (!analysis.has_labels)
      analysis.notes.emplace_back(
          "without class labels, accuracy cannot be computed: loss is the distance to the float network's outputs, in "
          "units of their standard deviation, and agreement with its answers replaces accuracy");
    if (analysis.samples < 100)
      analysis.notes.push_back(fmt::format(
          "only {} sample{}: accuracy has a resolution of {:.3g} points, and ranges of channels come from these "
          "samples only",
          analysis.samples, analysis.samples == 1 ? "" : "s", 100.0 / static_cast<double>(analysis.samples)));
  }

  const Model& prepared_;
  const AnalyzeOptions& options_;
  ThreadPool& pool_;
  const ProgressCallback& progress_;
  FloatNetwork network_;
  Trial trial_;
};

}  // namespace

Change operator-(const train::ValidationResult& second, const train::ValidationResult& first) {
  Change change{second.loss - first.loss, std::nullopt};
  if (second.right && first.right) change.right = *second.right - *first.right;
  return change;
}

double sensitivity_of(const Change& alone, const Change& without) {
  return (std::max(0.0, alone.loss) + std::max(0.0, -without.loss)) / 2;
}

void mark_badly_scaled(std::vector<QuantizerAnalysis>& quantizers) {
  constexpr double kMore = 3, kFewLeft = 6;
  std::vector<double> wasted;
  for (const QuantizerAnalysis& one : quantizers) {
    if (one.seen.wasted) wasted.push_back(*one.seen.wasted);
  }
  if (wasted.empty()) return;
  const double usual = median_of(wasted);
  for (QuantizerAnalysis& one : quantizers) {
    const double waste = one.seen.wasted.value_or(0);
    one.is_badly_scaled = waste >= usual + kMore && one.quantizer.bits - waste < kFewLeft;
  }
}

Analysis analyze(const Model& prepared, const data::Samples& samples, const AnalyzeOptions& options, ThreadPool& pool,
                 const ProgressCallback& progress) {
  if (!quant::is_prepared(prepared)) fail(errors::network_not_prepared());
  if (options.samples < 0) fail(errors::analysis_samples_negative(options.samples));
  return Analyzer(prepared, samples, options, pool, progress).run();
}

}  // namespace halfstep::sensitivity
