#include "halfstep/tune/allocation/allocation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/passes/graph/dynamic_batch.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/prepare.h"
#include "halfstep/quant/prepare/quantizer.h"
#include "halfstep/train/evaluate/with_dynamic_batch.h"
#include "halfstep/tune/allocation/errors.h"
#include "halfstep/tune/sensitivity/networks.h"
#include "halfstep/tune/sensitivity/trial.h"
#include "halfstep/tune/sensitivity/variants.h"

namespace halfstep::allocation {
namespace {

int64_t stored_bytes(const Tensor& tensor) {
  return tensor.dtype() == DType::i4 ? (tensor.size() + 1) / 2 : static_cast<int64_t>(tensor.bytes());
}

int64_t stored_bytes(const Model& integer) {
  int64_t bytes = 0;
  for (const auto& [name, tensor] : integer.tensors) bytes += stored_bytes(tensor);
  return bytes;
}

class Allocator {
 public:
  Allocator(const Model& prepared, const data::Samples& samples, const Options& options, uint64_t seed,
            ThreadPool& pool, const ProgressCallback& progress)
      : prepared_(prepared),
        samples_(samples),
        options_(options),
        pool_(pool),
        progress_(progress),
        trial_(sensitivity::FloatNetwork(prepared).in_float(), samples, options.samples, seed, pool),
        layout_(
            layout_of(specialize(prepared, samples.extents(data::batch_of(prepared, 1))), options.choose_first_last)) {}

  Allocation run() {
    if (std::ranges::all_of(layout_.groups, [](const Group& group) { return group.bit_widths.size() < 2; }))
      fail(errors::nothing_to_choose(quant::platform_of(prepared_).name));
    add_prices();
    const Chooser chooser(layout_, prices_);
    const auto choice = chooser.within(options_.budgets);
    if (!choice) refuse(chooser.nearest(options_.budgets));
    Allocation result;
    result.budgets = options_.budgets;
    result.samples = trial_.size();
    result.has_labels = trial_.has_labels();
    result.in_float = trial_.of(sensitivity::FloatNetwork(prepared_).in_float());
    result.before = point("before", layout_.now(), &prepared_);
    result.uniform = uniform_points();
    result.model = with_bit_widths(choice->assignment);
    result.chosen = point("chosen", choice->assignment, &result.model);
    result.bound = choice->bound;
    result.nodes = choice->nodes;
    prefer_better(result);
    result.front = front(chooser);
    measure_costs(result);
    result.sensitivity = prices_.sensitivity;
    result.notes = notes_;
    result.layout = std::move(layout_);
    return result;
  }

 private:
  void say(const char* stage, size_t done, size_t total) const {
    if (progress_) progress_({stage, static_cast<double>(done), static_cast<double>(total), ""});
  }

  /// The network with these bit widths, calibrated independently of its earlier bit widths.
  Model with_bit_widths(const Assignment& assignment) const {
    Model model = prepared_;
    quant::set_bit_widths(model, quant::platform_of(prepared_), layout_.bit_widths(assignment));
    train::calibrate(model, samples_, options_.calibration, pool_);
    return model;
  }

  void add_prices() {
    prices_.sensitivity.resize(layout_.groups.size());
    std::set<int> bit_widths;
    size_t total = 0, done = 0;
    for (const Group& group : layout_.groups) {
      bit_widths.insert(group.bit_widths.begin(), group.bit_widths.end());
      total += group.bit_widths.size();
    }
    for (const int width : bit_widths) {
      const Model model = with_all(width);
      for (const auto& quantizer : model.graph.all<ops::FakeQuantize>())
        code_types_[{quantizer.name(), width}] = *parse_dtype(quantizer.code_type());
      done += add_sensitivity(width, model, [&](size_t step, size_t steps, size_t groups) {
        say("sensitivity", done + step * groups / steps, total);
      });
    }
    add_sizes();
    if (!options_.table.empty()) {
      prices_.latencies = read_table(options_.table, layout_);
    } else if (std::ranges::find(options_.budgets, Currency::latency, &Budget::currency) != options_.budgets.end()) {
      prices_.latencies = measure(
          layout_, [&](const Assignment& assignment) { return with_bit_widths(assignment); }, samples_, pool_);
      if (!prices_.latencies->differ)
        notes_.emplace_back(
            "on this processor all bit widths take the same time within measurement error, so a latency budget has no "
            "effect; pass the board's times with --table");
    }
    if (prices_.latencies)
      notes_.insert(notes_.end(), prices_.latencies->notes.begin(), prices_.latencies->notes.end());
  }

  /// Measures the sensitivity of each group that may have this bit width, alone in the float network. Returns the
  /// number of these groups. Calls `say_step` with step, steps and groups.
  size_t add_sensitivity(int width, const Model& model, const std::function<void(size_t, size_t, size_t)>& say_step) {
    const sensitivity::FloatNetwork network(model);
    const sensitivity::Pieces pieces(network);
    std::vector<size_t> groups;
    std::vector<sensitivity::Variant> variants;
    for (size_t g = 0; g < layout_.groups.size(); ++g) {
      const Group& group = layout_.groups[g];
      if (std::ranges::find(group.bit_widths, width) == group.bit_widths.end()) continue;
      const auto is_of_group = [&group](const std::string& name) {
        return std::ranges::find(group.quantizers, name) != group.quantizers.end();
      };
      sensitivity::Variant variant{pieces.size(), 0, is_of_group};
      for (size_t p = 0; p < network.places().size(); ++p) {
        if (!is_of_group(network.places()[p].name())) continue;
        variant.first = std::min(variant.first, pieces.of(p));
        variant.last = std::max(variant.last, pieces.of(p));
      }
      groups.push_back(g);
      variants.push_back(std::move(variant));
    }
    const auto outcomes =
        outcomes_of(pieces, trial_, variants, [&](size_t step, size_t steps) { say_step(step, steps, groups.size()); });
    for (size_t i = 0; i < groups.size(); ++i) prices_.sensitivity[groups[i]][width] = outcomes[i].near.loss;
    return groups.size();
  }

  /// All quantizers that may have this bit width have it, even if the combination is not legal, because each is tried
  /// alone.
  Model with_all(int width) const {
    Model model = prepared_;
    const quant::Platform& platform = quant::platform_of(prepared_);
    std::set<std::string> names;
    for (const Group& group : layout_.groups) {
      if (std::ranges::find(group.bit_widths, width) != group.bit_widths.end()) names.insert(group.quantizers.front());
    }
    for (const auto& quantizer : model.graph.all<ops::FakeQuantize>()) {
      if (names.contains(quantizer.name())) quant::set_quantizer_bits(model, platform, quantizer, width);
    }
    train::calibrate(model, samples_, options_.calibration, pool_);
    return model;
  }

  void add_sizes() {
    const Model integer = quant::convert(prepared_, {.float_fallback = true}).model;
    prices_.other_bytes = static_cast<double>(stored_bytes(integer));
    prices_.weight_bytes.resize(layout_.layers.size());
    for (size_t l = 0; l < layout_.layers.size(); ++l) {
      const Layer& layer = layout_.layers[l];
      if (layer.weight < 0) continue;
      const Group& group = layout_.groups[static_cast<size_t>(layer.weight)];
      for (const int width : group.bit_widths) prices_.weight_bytes[l][width] = bytes_of(layer, group, width);
      prices_.other_bytes -= bytes_of(layer, group, group.now);
    }
  }

  /// Size of a layer's stored weights. Uses the code type that the quantizer has at this bit width.
  double bytes_of(const Layer& layer, const Group& group, int width) const {
    const DType type = code_types_.at({group.quantizers.front(), width});
    const int64_t count = layer.weight_elements;
    return static_cast<double>(type == DType::i4 ? (count + 1) / 2 : count * static_cast<int64_t>(size_of(type)));
  }

  Point point(std::string what, const Assignment& assignment, const Model* model = nullptr) const {
    Point point{std::move(what), assignment, prices_.of(layout_, assignment), prices_.sensitivity_of(assignment)};
    const auto outcome = trial_.outcome_of(model == nullptr ? with_bit_widths(assignment) : *model);
    point.loss = outcome.near.loss;
    point.right = outcome.judged.right;
    return point;
  }

  bool meets(const Costs& costs) const {
    return std::ranges::all_of(options_.budgets, [&](const Budget& one) { return costs.of(one.currency) <= one.most; });
  }

  /// Assignments with one bit width for all weights and one for all activations. Groups without a choice keep theirs.
  std::vector<Point> uniform_points() const {
    std::vector<Point> points;
    std::set<int> weights, activations;
    for (const Group& group : layout_.groups) {
      if (group.bit_widths.size() > 1)
        (group.is_weight ? weights : activations).insert(group.bit_widths.begin(), group.bit_widths.end());
    }
    for (const int bits : weights.empty() ? std::set{0} : weights) {
      for (const int of_activations : {bits, activations.empty() ? 0 : *activations.rbegin()}) {
        Assignment assignment = layout_.now();
        for (size_t g = 0; g < layout_.groups.size(); ++g) {
          const Group& group = layout_.groups[g];
          const int wanted = group.is_weight ? bits : of_activations;
          if (std::ranges::find(group.bit_widths, wanted) != group.bit_widths.end()) assignment[g] = wanted;
        }
        const bool is_known =
            std::ranges::any_of(points, [&](const Point& one) { return one.assignment == assignment; });
        if (is_known || !is_legal(assignment)) continue;
        points.push_back(point(fmt::format("weights {}, activations {}", bits, of_activations), assignment));
      }
    }
    return points;
  }

  bool is_legal(const Assignment& assignment) const {
    return std::ranges::none_of(layout_.clashes, [&](const Clash& clash) {
      return std::ranges::all_of(
          clash, [&](const auto& one) { return assignment[static_cast<size_t>(one.first)] == one.second; });
    });
  }

  /// Sensitivities of single bit widths do not add up exactly. Chooses uniform bit widths if they are within the
  /// budgets and closer to the float network.
  void prefer_better(Allocation& result) {
    for (const Point& point : result.uniform) {
      if (!meets(point.costs) || !(point.loss < result.chosen.loss)) continue;
      notes_.push_back(
          fmt::format("{} bits everywhere are within the budget and closer to the float network than the bit widths "
                      "with the lowest predicted loss, so they are chosen",
                      point.what));
      result.chosen = point;
      result.chosen.what = "chosen";
      result.model = with_bit_widths(point.assignment);
    }
  }

  /// The least total sensitivity for equally spaced amounts of the first currency, from the cheapest assignment to that
  /// without a budget.
  std::vector<Point> front(const Chooser& chooser) const {
    std::vector<Point> points;
    const Currency currency = options_.budgets.front().currency;
    const double least = prices_.of(layout_, chooser.cheapest(currency).assignment).of(currency);
    const double most = prices_.of(layout_, chooser.within({})->assignment).of(currency);
    for (int64_t i = 0; i < options_.front; ++i) {
      const double share = options_.front > 1 ? static_cast<double>(i) / static_cast<double>(options_.front - 1) : 0;
      const auto choice = chooser.within({{currency, (least + share * (most - least)) * (1 + 1e-9)}});
      say("front", static_cast<size_t>(i + 1), static_cast<size_t>(options_.front));
      const auto is_known = [&](const Point& one) { return one.assignment == choice->assignment; };
      if (choice && std::ranges::none_of(points, is_known)) points.push_back(point("", choice->assignment));
    }
    return points;
  }

  void measure_costs(Allocation& result) const {
    const Model integer = quant::convert(result.model, {.float_fallback = true}).model;
    result.measured.size = static_cast<double>(stored_bytes(integer));
    result.measured.bitops = result.chosen.costs.bitops;
    if (!prices_.latencies) return;
    result.latency_source = prices_.latencies->source;
    if (options_.table.empty()) result.measured.latency = run_time(integer, samples_, pool_);
  }

  [[noreturn]] void refuse(const Choice& nearest) const {
    const Costs costs = prices_.of(layout_, nearest.assignment);
    std::vector<std::string> words;
    for (const Budget& budget : options_.budgets)
      words.push_back(fmt::format("{} {}, and the budget is {}", name(budget.currency),
                                  in_words(budget.currency, costs.of(budget.currency)),
                                  in_words(budget.currency, budget.most)));
    fail(
        errors::budget_out_of_reach(quant::platform_of(prepared_).name, fmt::format("{}", fmt::join(words, ", and "))));
  }

  const Model& prepared_;
  const data::Samples& samples_;
  const Options& options_;
  ThreadPool& pool_;
  const ProgressCallback& progress_;
  sensitivity::Trial trial_;
  Layout layout_;
  Prices prices_;
  std::map<std::pair<std::string, int>, DType> code_types_;  ///< by quantizer and bit width
  std::vector<std::string> notes_;
};

}  // namespace

Allocation allocate(const Model& prepared, const data::Samples& samples, const Options& options, uint64_t seed,
                    ThreadPool& pool, const ProgressCallback& progress) {
  if (!quant::is_prepared(prepared)) fail(errors::network_not_prepared());
  if (options.budgets.empty()) fail(errors::budget_missing());
  const Model opened = train::with_dynamic_batch(prepared, samples, pool);
  Allocation allocation = Allocator(opened, samples, options, seed, pool, progress).run();
  allocation.model = passes::close_batch(std::move(allocation.model), prepared);
  if (auto note = train::fixed_batch_note(opened)) allocation.notes.push_back(std::move(*note));
  return allocation;
}

}  // namespace halfstep::allocation
