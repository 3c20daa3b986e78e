// Finds the bit widths with the least total sensitivity within a budget.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "halfstep/tune/allocation/budget.h"
#include "halfstep/tune/allocation/latency.h"
#include "halfstep/tune/allocation/width_groups.h"

namespace halfstep::allocation {

/// Sensitivity and cost of every bit width.
struct Prices {
  std::vector<std::map<int, double>> sensitivity;   ///< sensitivity by group and bit width
  std::vector<std::map<int, double>> weight_bytes;  ///< by layer and bit width of its weight, empty without a weight
  double other_bytes = 0;                           ///< stored bytes that do not depend on bit widths
  std::optional<Latencies> latencies = {};

  Costs of(const Layout& layout, const Assignment& assignment) const;
  /// Infinite for a layer with weights whose time at these bit widths is unknown, so that it cannot have them.
  double latency_of(const Layout& layout, const Layer& layer, int weight_bits, int read_bits) const;
  double sensitivity_of(const Assignment& assignment) const;
};

struct Choice {
  Assignment assignment;
  double sensitivity = 0;  ///< sum of the sensitivities
  double bound = 0;        ///< no legal assignment within the budgets has less total sensitivity
  int64_t nodes = 0;
};

class Chooser {
 public:
  /// Both arguments must outlive this object.
  Chooser(const Layout& layout, const Prices& prices) : layout_(layout), prices_(prices) {}

  /// Returns nothing if no legal assignment meets the budgets.
  std::optional<Choice> within(const std::vector<Budget>& budgets) const;
  /// The assignment with the smallest excess, summed over budgets relative to each budget.
  Choice nearest(const std::vector<Budget>& budgets) const;
  /// The cheapest assignment in one currency.
  Choice cheapest(Currency currency) const;

 private:
  const Layout& layout_;
  const Prices& prices_;
};

}  // namespace halfstep::allocation
