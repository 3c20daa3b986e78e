// Selects the values of a float network that have quantizers on a target with insertion rules.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/platform/insertion_rules.h"

namespace halfstep::quant {

struct Insertion {
  /// An activation with a quantizer.
  struct Activation {
    Value value;
    std::string reason;             ///< the rule that asked for it
    bool is_unsigned = false;       ///< on a target with signed activations: codes start at 0
    bool is_first_or_last = false;  ///< read by one of the first or last operations of the network
  };
  std::vector<Activation> activations;           ///< in the order of discovery
  std::set<const detail::ValueNode*> quantized;  ///< values of `activations`
  std::vector<Op> weighted;                      ///< operations whose weights have quantizers
  std::set<const detail::OpNode*> edges;         ///< operations that read an input or compute an output of the network

  bool has(Value value) const { return quantized.contains(value.node()); }
};

/// Requests of the user for single operations, with the reason, and facts about rewritten operations.
struct Requests {
  std::map<const detail::OpNode*, std::string> in_float;  ///< operations that stay in float
  std::map<const detail::OpNode*, std::string> also;  ///< operations that ask for quantized activations, independent of
                                                      ///< the rules
  std::set<std::string> normalized = {};              ///< layers with a folded normalization
  std::set<std::string> means = {};                   ///< operators that compute a mean without keep_dims
};

/// Applies the insertion rules of a target. Throws if an operation is both in `in_float` and `also` of `requests`.
Insertion insertion_of(const Graph& graph, const InsertionRules& rules, const Requests& requests);

/// For each value, how MQBench deviates there because of the quirks of `rules`, and why. Empty if the rules follow the
/// quirks. `ours`: the quantizers that these rules insert. `has_edges`: whether first and last layers have their own
/// bit widths.
std::map<std::string, std::string> deviations_from_mqbench(const Graph& graph, const InsertionRules& rules,
                                                           const Requests& requests, const Insertion& ours,
                                                           bool has_edges);

}  // namespace halfstep::quant
