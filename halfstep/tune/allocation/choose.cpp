#include "halfstep/tune/allocation/choose.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halfstep/core/base/status.h"
#include "halfstep/tune/allocation/linear_program.h"

namespace halfstep::allocation {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double bitops_of(const Layer& layer, int weight_bits, int read_bits) {
  return layer.multiplications * weight_bits * read_bits;
}

/// The 0-1 integer program. It has a variable for each group and bit width. If a cost depends on two bit widths, it
/// also has a variable for each pair that a layer may have. This variable is 1 if the layer has both.
class Formulation {
 public:
  Formulation(const Layout& layout, const Prices& prices, double sensitivity_counts, const std::vector<Budget>& budgets)
      : layout_(layout), prices_(prices) {
    for (size_t g = 0; g < layout.groups.size(); ++g) {
      Terms one;
      for (const int width : layout.groups[g].bit_widths) {
        const int variable = program_.add(sensitivity_counts * prices.sensitivity[g].at(width));
        of_groups_[{static_cast<int>(g), width}] = variable;
        one.emplace_back(variable, 1.0);
      }
      program_.require(one, 1, 1);
    }
    for (const Clash& clash : layout.clashes) {
      Terms terms;
      for (const auto& choice : clash) terms.emplace_back(of_groups_.at(choice), 1.0);
      program_.require(terms, -kInfinite, static_cast<double>(clash.size()) - 1);
    }
    const bool has_pairs = prices.latencies || std::ranges::any_of(budgets, [](const Budget& budget) {
                             return budget.currency != Currency::size;
                           });
    for (size_t l = 0; has_pairs && l < layout.layers.size(); ++l) add_pairs(l);
  }

  /// The cost of an assignment as terms, without its constant part (`fixed_cost`).
  Terms cost(Currency currency) const {
    Terms terms;
    for (size_t l = 0; l < layout_.layers.size(); ++l) {
      const Layer& layer = layout_.layers[l];
      if (currency == Currency::size) {
        for (const auto& [width, bytes] : prices_.weight_bytes[l])
          terms.emplace_back(of_groups_.at({layer.weight, width}), bytes);
        continue;
      }
      for (const auto& [bit_widths, variable] : pairs_[l])
        terms.emplace_back(variable, price(currency, layer, bit_widths.first, bit_widths.second));
    }
    return merged(terms);
  }
  double fixed_cost(Currency currency) const {
    switch (currency) {
      case Currency::size: return prices_.other_bytes;
      case Currency::latency: return prices_.latencies ? prices_.latencies->rest : 0;
      case Currency::bitops: break;
    }
    return 0;
  }

  /// Adds a budget. If `may_exceed`, the objective includes the excess relative to the budget. Otherwise no excess is
  /// allowed.
  void add(const Budget& budget, bool may_exceed) {
    Terms terms = cost(budget.currency);
    if (may_exceed) terms.emplace_back(program_.add(1.0, false, kInfinite), -budget.most);
    program_.require(std::move(terms), -kInfinite, budget.most - fixed_cost(budget.currency));
  }

  std::optional<Choice> solve() const {
    const Solution solution = program_.solve();
    if (!solution.is_feasible) return std::nullopt;
    Choice choice;
    for (size_t g = 0; g < layout_.groups.size(); ++g) {
      for (const int width : layout_.groups[g].bit_widths) {
        if (solution.values[static_cast<size_t>(of_groups_.at({static_cast<int>(g), width}))] > 0.5)
          choice.assignment.push_back(width);
      }
    }
    HS_CHECK(choice.assignment.size() == layout_.groups.size());
    choice.sensitivity = prices_.sensitivity_of(choice.assignment);
    choice.bound = std::min(choice.sensitivity, solution.bound);
    choice.nodes = solution.nodes;
    return choice;
  }

  Program& program() { return program_; }

 private:
  double price(Currency currency, const Layer& layer, int weight_bits, int read_bits) const {
    return currency == Currency::bitops ? bitops_of(layer, weight_bits, read_bits)
                                        : prices_.latency_of(layout_, layer, weight_bits, read_bits);
  }

  std::vector<int> bit_widths_of(int group) const {
    return group < 0 ? std::vector{0} : layout_.groups[static_cast<size_t>(group)].bit_widths;
  }

  void add_pairs(size_t number) {
    const Layer& layer = layout_.layers[number];
    pairs_.emplace_back();
    const auto weights = bit_widths_of(layer.weight), reads = bit_widths_of(layer.reads);
    if (layer.weight < 0 && layer.reads < 0) return;
    if (layer.weight < 0) {
      for (const int read : reads) pairs_.back()[{0, read}] = of_groups_.at({layer.reads, read});
      return;
    }
    for (const int weight : weights) {
      for (const int read : reads) {
        if (std::isfinite(prices_.latency_of(layout_, layer, weight, read)))
          pairs_.back()[{weight, read}] = program_.add(0, false);
      }
    }
    const auto tie = [&](int group, int width, bool is_weight) {
      if (group < 0) return;
      Terms terms = {{of_groups_.at({group, width}), -1.0}};
      for (const auto& [bit_widths, variable] : pairs_.back()) {
        if ((is_weight ? bit_widths.first : bit_widths.second) == width) terms.emplace_back(variable, 1.0);
      }
      program_.require(std::move(terms), 0, 0);
    };
    for (const int weight : weights) tie(layer.weight, weight, true);
    for (const int read : reads) tie(layer.reads, read, false);
  }

  /// Combines terms, so that each variable has one.
  static Terms merged(const Terms& terms) {
    std::map<int, double> sums;
    for (const auto& [variable, weight] : terms) sums[variable] += weight;
    return {sums.begin(), sums.end()};
  }

  const Layout& layout_;
  const Prices& prices_;
  Program program_;
  std::map<std::pair<int, int>, int> of_groups_;           ///< by group and bit width
  std::vector<std::map<std::pair<int, int>, int>> pairs_;  ///< by layer, bit width of the weight and of its input
};

}  // namespace

Costs Prices::of(const Layout& layout, const Assignment& assignment) const {
  const auto width = [&](int group) { return group < 0 ? 0 : assignment[static_cast<size_t>(group)]; };
  Costs costs;
  costs.size = other_bytes;
  if (latencies) costs.latency = latencies->rest;
  for (size_t l = 0; l < layout.layers.size(); ++l) {
    const Layer& layer = layout.layers[l];
    if (layer.weight >= 0) costs.size += weight_bytes[l].at(width(layer.weight));
    costs.bitops += bitops_of(layer, width(layer.weight), width(layer.reads));
    if (latencies) *costs.latency += latency_of(layout, layer, width(layer.weight), width(layer.reads));
  }
  return costs;
}

double Prices::latency_of(const Layout& layout, const Layer& layer, int weight_bits, int read_bits) const {
  if (!latencies) return 0;
  return latencies->of(layer, layout, weight_bits, read_bits).value_or(layer.weight < 0 ? 0 : kInfinite);
}

double Prices::sensitivity_of(const Assignment& assignment) const {
  double sum = 0;
  for (size_t g = 0; g < assignment.size(); ++g) sum += sensitivity[g].at(assignment[g]);
  return sum;
}

std::optional<Choice> Chooser::within(const std::vector<Budget>& budgets) const {
  // The solver's tolerance may let a budget be exceeded by a millionth. The next try then asks for that much less.
  for (double share = 1; share > 0.99; share -= 1e-6) {
    Formulation formulation(layout_, prices_, 1, budgets);
    for (const Budget& budget : budgets) formulation.add({budget.currency, share * budget.most}, false);
    auto choice = formulation.solve();
    if (!choice) return std::nullopt;
    const Costs costs = prices_.of(layout_, choice->assignment);
    if (std::ranges::all_of(budgets, [&](const Budget& one) { return costs.of(one.currency) <= one.most; }))
      return choice;
  }
  return std::nullopt;
}

Choice Chooser::nearest(const std::vector<Budget>& budgets) const {
  Formulation formulation(layout_, prices_, 0, budgets);
  for (const Budget& budget : budgets) formulation.add(budget, true);
  auto choice = formulation.solve();
  HS_CHECK(choice.has_value());
  return *choice;
}

Choice Chooser::cheapest(Currency currency) const { return nearest({{currency, 1}}); }

}  // namespace halfstep::allocation
