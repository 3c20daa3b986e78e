#include "halfstep/tune/sensitivity/crushed.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/engine/compile/evaluate_operation.h"
#include "halfstep/passes/graph/builder_behind.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/batch_memory.h"
#include "halfstep/train/evaluate/executable.h"
#include "halfstep/tune/sensitivity/networks.h"

namespace halfstep::sensitivity {
namespace {

using verify::OutputPart;

/// A power of two, so that all batches are equal. Each batch size needs its own program with its own copy of the
/// weights.
int64_t alike_batch(const Model& model, int64_t most) {
  return data::judged_batch(model, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(most))));
}

/// Replaces quantized weights by their rounded values, once for all batches. Some kernels need constant weights.
void round_weights(Model& form) {
  for (const auto& quantizer : form.graph.all<ops::FakeQuantize>()) {
    const auto operands = quantizer.operands();
    if (!std::ranges::all_of(operands, &Value::is_tensor)) continue;
    std::vector<Tensor> contents;
    for (const Value operand : operands) contents.push_back(form.tensors.at(operand.name()));
    Tensor rounded = compiler::evaluate(quantizer, contents).front();
    const Value weight = passes::add_tensor(form, quantizer.name() + ".rounded", std::move(rounded), Role::constant);
    quantizer.out().replace_all_uses_with(weight);
    form.graph.erase(quantizer);
  }
}

/// Selects samples and converts them to inputs of the network.
FloatAnswers some_of(const Model& model, const data::Samples& samples, uint64_t seed) {
  constexpr uint64_t kStream = (uint64_t{3} << 62) + 3;  // stream after those of trials
  constexpr int64_t kSamples = 32, kBatch = 8;
  int64_t batch = train::fetching_batch(model, samples, kBatch);
  FloatAnswers answers;
  answers.is_large = train::samples_in_memory(model, samples, kBatch) < kBatch;
  if (answers.is_large) batch = alike_batch(model, batch);
  const int64_t most = std::max(answers.is_large ? kBatch : kSamples, batch);
  const int64_t size = data::usable(model, std::min(most, samples.size()));
  const auto order = Random(seed, kStream).permutation(samples.size());
  for (int64_t begin = 0; begin < size; begin += batch)
    answers.batches.push_back(samples.inputs(begin, std::min(batch, size - begin), &order));
  return answers;
}

/// The smallest and the largest of some values.
struct Span {
  float low = std::numeric_limits<float>::infinity(), high = -low;

  bool is_infinite() const { return high == -Span().high || low == -Span().low; }
  double width() const { return static_cast<double>(high) - static_cast<double>(low); }
  void add(const Span& more) {
    low = more.low < low ? more.low : low;
    high = more.high > high ? more.high : high;
  }
  /// The span after a clip to `limits`.
  Span clipped(const Span& limits) const {
    return {std::clamp(low, limits.low, limits.high), std::clamp(high, limits.low, limits.high)};
  }
};

/// Elements in parallel, so that comparisons use vector instructions.
constexpr size_t kLanes = 16;

Span span_of(std::span<const float> values) {
  std::array<float, kLanes> lows, highs;
  lows.fill(Span().low);
  highs.fill(Span().high);
  size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      lows[lane] = value < lows[lane] ? value : lows[lane];
      highs[lane] = value > highs[lane] ? value : highs[lane];
    }
  }
  Span span;
  for (size_t lane = 0; lane < kLanes; ++lane) span.add({lows[lane], highs[lane]});
  for (; i < values.size(); ++i) span.add({values[i], values[i]});
  return span;
}

/// The span of values at each index of an axis, or of all values if axis is -1.
struct Spans {
  int64_t axis = -1;
  std::vector<Span> spans = {};

  void add(const Tensor& x) {
    const Channels channels(x.dims(), axis);
    spans.resize(std::max(spans.size(), channels.count));
    const auto values = x.data<float>();
    const size_t run = channels.run(values.size());
    if (run >= kLanes) {
      for (size_t begin = 0; begin < values.size(); begin += run)
        spans[channels.of(begin)].add(span_of(values.subspan(begin, run)));
    } else {
      add_rows(values, channels);
    }
  }

  /// Faster if few consecutive elements have the same index. Combines all rows before the axis first, with elements of
  /// a row in parallel.
  void add_rows(std::span<const float> values, const Channels& channels) {
    std::vector<Span> row(channels.step * channels.count);
    for (size_t begin = 0; begin < values.size(); begin += row.size()) {
      for (size_t i = 0; i < row.size(); ++i) row[i].add({values[begin + i], values[begin + i]});
    }
    for (size_t i = 0; i < row.size(); ++i) spans[channels.of(i)].add(row[i]);
  }
};

/// The values that a reader of a quantizer uses. An activation function uses those between its limits.
struct View {
  std::string reader = {};  ///< result of the reader, "" for all readers
  Span limits = {-Span().low, -Span().high};
};

/// All values first, then the views of activation functions.
std::vector<View> views_of(const Place& place) {
  std::vector<View> views(1);
  for (const auto& [reader, port] : place.quantizer.out().uses()) {
    if (reader.is<ops::Relu, ops::Relu6>()) {
      views.push_back({reader.out(0).name(), {0, reader.is<ops::Relu6>() ? 6 : Span().low}});
    } else if (reader.is<ops::HardTanh>()) {
      const ops::HardTanh clip(reader.node());
      views.push_back({clip.out().name(), {static_cast<float>(clip.alpha()), static_cast<float>(clip.beta())}});
    }
  }
  return views;
}

/// A part of a quantizer's values that may be crushed.
struct Candidate {
  size_t place = 0;
  std::string reader = {};
  int64_t axis = -1;
  std::vector<int64_t> indices = {};
  Span span = {};
  double steps = 0, step = 0;
};

/// Axes along which parts can differ: channel axes here or after a transpose, and axes of concats and slices.
std::vector<int64_t> axes_of(const Place& place) {
  const Dims& dims = place.quantizer.x().dims();
  if (place.is_weight) return {place.quantizer.out().uses().front().first.info().quant.weight_axis};
  std::vector<int64_t> axes = verify::part_axes(dims);
  const auto add = [&](int64_t axis) {
    axis += axis < 0 ? std::ssize(dims) : 0;
    if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  };
  const Op producer = place.quantizer.x().producer();
  if (producer.is<ops::Concat>()) add(ops::Concat(producer.node()).axis());
  for (const auto& [reader, port] : place.quantizer.out().uses()) {
    if (reader.is<ops::Transpose>()) {
      const auto perm = ops::Transpose(reader.node()).perm();
      for (const int64_t axis : verify::part_axes(reader.out(0).dims())) add(perm[static_cast<size_t>(axis)]);
    }
    if (!reader.is<ops::Slice>()) continue;
    for (const int64_t axis : ops::Slice(reader.node()).axes()) add(axis);
  }
  std::erase_if(axes, [&](int64_t axis) { return axis < 0 || dims[static_cast<size_t>(axis)] == kUnknown; });
  return axes;
}

class Search {
 public:
  Search(const Model& prepared, const data::Samples& samples, uint64_t seed, ThreadPool& pool)
      : prepared_(prepared), network_(prepared), pool_(pool), answers_(some_of(prepared, samples, seed)) {}

  Crushed run() {
    std::vector<CrushedPart> parts = crushed(find());
    return {std::move(parts), std::move(infinite_), std::move(answers_)};
  }

 private:
  std::vector<CrushedPart> crushed(const std::vector<Candidate>& candidates) const {
    if (candidates.empty()) return {};
    const auto rest = answers_.parts_of(form(candidates, false), pool_);
    const auto together = answers_.parts_of(form(candidates, true), pool_);
    if (poorest(together, rest) == nullptr) return {};
    constexpr size_t kMostTried = 16;  // quantizers to try alone
    const auto audited = quant::audit(prepared_).quantizers;
    std::vector<CrushedPart> crushed;
    for (size_t i = 0; i < std::min(kMostTried, candidates.size()); ++i) {
      const Candidate& one = candidates[i];
      const auto alone = answers_.parts_of(form({one}, true), pool_);
      const OutputPart* const output = poorest(alone, rest);
      if (output == nullptr) continue;
      const Place& place = network_.places()[one.place];
      crushed.push_back({place.name(), audited[one.place], one.reader, one.axis, one.indices,
                         static_cast<double>(one.span.low), static_cast<double>(one.span.high), one.steps, one.step,
                         *output});
    }
    return crushed;
  }

  /// Whether the observer reads the quantizer's input. It does not if only masks read the value.
  bool is_observed(const Place& place) const {
    const Op quantizer = prepared_.graph.op(place.name());
    const auto watched = quant::observer_of(ops::FakeQuantize(quantizer.node())).x();
    return std::ranges::find(watched, quantizer.in(0)) != watched.end();
  }

  /// The output part with the lowest SQNR below kPoorPart, among those that are not better with everything else
  /// rounded.
  static const OutputPart* poorest(const std::vector<OutputPart>& rounded, const std::vector<OutputPart>& rest) {
    HS_CHECK(rounded.size() == rest.size());
    const OutputPart* poorest = nullptr;
    for (size_t i = 0; i < rounded.size(); ++i) {
      const double found = rounded[i].sums.sqnr_db();
      if (!(found < verify::kPoorPart) || found > rest[i].sums.sqnr_db()) continue;
      if (poorest == nullptr || found < poorest->sums.sqnr_db()) poorest = &rounded[i];
    }
    return poorest;
  }

  std::vector<Candidate> find() {
    const auto& places = network_.places();
    std::vector<std::vector<Spans>> seen(places.size());
    std::set<std::string> names;
    for (size_t p = 0; p < places.size(); ++p) {
      const Rounder rounder = network_.rounder(places[p]);
      if (rounder.codes() == 0 || rounder.channels() > 1 || is_in_region(places[p].quantizer)) continue;
      seen[p].push_back({});
      for (const int64_t axis : axes_of(places[p])) {
        if (places[p].quantizer.x().dims()[static_cast<size_t>(axis)] != kUnknown) seen[p].push_back({axis});
      }
      const bool is_given = places[p].quantizer.x().producer() == Op();
      if (!is_given) names.insert(places[p].value());
    }
    watch(seen, names);
    std::vector<Candidate> candidates;
    for (size_t p = 0; p < places.size(); ++p) {
      const bool is_infinite = !seen[p].empty() && std::ranges::any_of(seen[p].front().spans, &Span::is_infinite);
      if (is_infinite && is_observed(places[p])) infinite_.push_back(places[p].name());
      if (!seen[p].empty()) add_candidate(candidates, p, seen[p]);
    }
    return candidates;
  }

  /// Adds the first part of the quantizer's values that spans few steps.
  void add_candidate(std::vector<Candidate>& candidates, size_t place, const std::vector<Spans>& seen) const {
    const Rounder rounder = network_.rounder(network_.places()[place]);
    for (const View& view : views_of(network_.places()[place])) {
      for (const Spans& along : seen) {
        Candidate one = candidate(place, view, along, static_cast<double>(rounder.step(0)), few_steps(rounder.codes()));
        if (one.steps > 0) return candidates.push_back(std::move(one));
      }
    }
  }

  /// Observes the quantizers' inputs in the float network, and stores its outputs.
  void watch(std::vector<std::vector<Spans>>& seen, std::set<std::string> names) {
    const auto& places = network_.places();
    const Model network = train::evaluation_form(network_.in_float());
    const std::vector<std::string>& output_names = network.graph.body().output_names();
    names.insert(output_names.begin(), output_names.end());
    train::BatchRunner runner(network, {names.begin(), names.end()}, pool_);
    for (size_t batch = 0; batch < answers_.batches.size(); ++batch) {
      const Tensors values = runner.run(answers_.batches[batch]);
      Tensors outputs;
      for (const std::string& name : output_names) outputs.emplace(name, values.at(name));
      answers_.wanted.push_back(std::move(outputs));
      pool_.parallel_for(std::ssize(places), [&](int64_t p) {
        const auto at = static_cast<size_t>(p);
        const Value x = places[at].quantizer.x();
        if (x.is_tensor() && batch > 0) return;
        const Tensors& from = x.is_tensor()  ? network_.prepared().tensors
                              : x.producer() ? values
                                             : answers_.batches[batch];
        for (Spans& along : seen[at]) along.add(from.at(x.name()));
      });
    }
  }

  /// The part that spans few steps. A constant spans its distance from 0. steps is 0 if there is no such part.
  static Candidate candidate(size_t place, const View& view, const Spans& along, double step, double few) {
    Candidate found{place, view.reader, along.axis, {}, {}, 0, step};
    for (size_t i = 0; i < along.spans.size(); ++i) {
      const Span span = along.spans[i].clipped(view.limits);
      const double steps = (span.width() == 0 ? std::abs(span.low) : span.width()) / step;
      if (!(steps > 0 && steps < few)) continue;
      if (along.axis >= 0) found.indices.push_back(static_cast<int64_t>(i));
      found.span.low = std::min(found.span.low, span.low);
      found.span.high = std::max(found.span.high, span.high);
      found.steps = std::max(found.steps, steps);
    }
    return found;
  }

  /// The network that rounds only these parts (`rounds`), or everything except them.
  Model form(const std::vector<Candidate>& candidates, bool rounds) const {
    std::set<std::string> whole, parted;
    for (const Candidate& one : candidates) (one.axis < 0 ? whole : parted).insert(network_.places()[one.place].name());
    Model model = network_.with([&](const std::string& name) {
      return parted.contains(name) || (rounds ? whole.contains(name) : !whole.contains(name));
    });
    for (const Candidate& one : candidates) {
      if (one.axis >= 0) divide(model, one, rounds);
    }
    return model;
  }

  /// Selects the quantizer's result for one part of the elements, and its input for the others.
  void divide(Model& model, const Candidate& one, bool rounds) const {
    const Op found = model.graph.op(network_.places()[one.place].name());
    if (!found) return;  // no output depends on it
    const ops::FakeQuantize quantizer(found.node());
    const Dims& dims = quantizer.x().dims();
    Dims along(dims.size(), 1);
    along[static_cast<size_t>(one.axis)] = dims[static_cast<size_t>(one.axis)];
    Tensor mask(DType::boolean, along);
    std::ranges::fill(mask.data<bool>(), !rounds);
    for (const int64_t index : one.indices) mask.data<bool>()[static_cast<size_t>(index)] = rounds;
    const Value condition = passes::add_tensor(model, quantizer.name() + ".part", std::move(mask), Role::constant);
    Builder builder = passes::builder_behind(model.graph, quantizer.out());
    const Op chosen = ops::select(builder, {.condition = condition,
                                            .a = quantizer.x(),
                                            .b = quantizer.x(),
                                            .name = model.graph.unique_name(quantizer.name() + ".divided")});
    quantizer.out().replace_all_uses_with(chosen.out(0));
    chosen.set_operand(ops::Select::record().input("a"), quantizer.out());
  }

  const Model& prepared_;
  FloatNetwork network_;
  ThreadPool& pool_;
  FloatAnswers answers_;
  std::vector<std::string> infinite_;
};

/// "4 to 8, 12".
std::string ranges_of(const std::vector<int64_t>& indices) {
  constexpr size_t kShown = 4;
  std::vector<std::string> ranges;
  for (size_t i = 0; i < indices.size();) {
    size_t end = i + 1;
    while (end < indices.size() && indices[end] == indices[end - 1] + 1) ++end;
    ranges.push_back(end == i + 1 ? fmt::format("{}", indices[i])
                                  : fmt::format("{} to {}", indices[i], indices[end - 1]));
    i = end;
  }
  const size_t shown = std::min(kShown, ranges.size());
  const std::string more = shown < ranges.size() ? fmt::format(" and {} more", ranges.size() - shown) : "";
  return fmt::format("{}{}", fmt::join(std::span(ranges).first(shown), ", "), more);
}

}  // namespace

std::vector<OutputPart> FloatAnswers::parts_of(const Model& form, ThreadPool& pool) const {
  Model evaluated = train::evaluation_form(form);
  round_weights(evaluated);
  train::BatchRunner runner(std::move(evaluated), {}, pool);
  verify::OutputParts parts;
  for (size_t batch = 0; batch < batches.size(); ++batch) {
    const Tensors found = runner.run(batches[batch]);
    for (const auto& [name, tensor] : wanted[batch]) parts.add(name, tensor, found.at(name));
  }
  return parts.parts();
}

double few_steps(size_t codes) { return std::clamp(static_cast<double>(codes) / 32, 2.0, 8.0); }

std::string sentence_of(const CrushedPart& part) {
  constexpr size_t kShown = 3;
  const std::string place =
      part.axis < 0 ? "" : fmt::format(" at indices {} of axis {}", ranges_of(part.indices), part.axis);
  const std::string reader = part.reader.empty() ? "" : fmt::format(" after '{}'", part.reader);
  const std::string shared =
      part.quantizer.shares.empty()
          ? ""
          : fmt::format(
                ", and its scale is shared with '{}'",
                fmt::join(std::span(part.quantizer.shares).first(std::min(kShown, part.quantizer.shares.size())),
                          "', '"));
  return fmt::format(
      "'{}'{}: values from {:.4g} to {:.4g}{} span {:.2g} steps of {:.4g}{}; this rounding alone reduces {} to an SQNR "
      "of {:.1f} dB",
      part.quantizer.tensor, place, part.low, part.high, reader, part.steps, part.step, shared,
      verify::name_of(part.output), part.output.sums.sqnr_db());
}

Crushed crushed_values(const Model& prepared, const data::Samples& samples, uint64_t seed, ThreadPool& pool) {
  return Search(prepared, samples, seed, pool).run();
}

}  // namespace halfstep::sensitivity
