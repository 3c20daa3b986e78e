// Widths of the least harm for a budget.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "halfstep/tune/allocation/budget.h"
#include "halfstep/tune/allocation/latency.h"
#include "halfstep/tune/allocation/width_groups.h"

namespace halfstep::allocation {

/// What widths cost and what harm they do.
struct Prices {
  std::vector<std::map<int, double>> harm;          ///< by group and width
  std::vector<std::map<int, double>> weight_bytes;  ///< of layers, by width of the weight; empty without one
  double other_bytes = 0;                           ///< that are stored whatever the widths
  std::optional<Latencies> latencies = {};

  Costs of(const Layout& layout, const Assignment& assignment) const;
  /// Infinite for a layer with weights whose time at these widths nobody knows: it cannot have them.
  double latency_of(const Layout& layout, const Layer& layer, int weight_bits, int read_bits) const;
  double harm_of(const Assignment& assignment) const;
};

struct Choice {
  Assignment assignment;
  double harm = 0;   ///< the sum
  double bound = 0;  ///< no legal assignment within the budgets has less
  int64_t nodes = 0;
};

class Chooser {
 public:
  /// All must outlive it.
  Chooser(const Layout& layout, const Prices& prices) : layout_(layout), prices_(prices) {}

  /// Nothing where no legal assignment meets the budgets.
  std::optional<Choice> within(const std::vector<Budget>& budgets) const;
  /// The assignment that exceeds the budgets by the least sum of shares of them.
  Choice nearest(const std::vector<Budget>& budgets) const;
  /// The cheapest in one currency.
  Choice cheapest(Currency currency) const;

 private:
  const Layout& layout_;
  const Prices& prices_;
};

}  // namespace halfstep::allocation
